"""The screen of a terminal, from the bytes that a program wrote to it."""

import re
import unicodedata

# The styles that Ladle uses, by their number; 0 ends all.
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}


def wide(character):
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """The rows that a terminal shows after these bytes. It knows the codes that Ladle uses, and refuses others."""

    def __init__(self, columns, written):
        # A row is a list of (character, styles); the second cell of a wide character has no character.
        self.columns, self.rows, self.row, self.column, self.styles = columns, [[]], 0, 0, frozenset()
        for code, character in re.findall(r"\x1b\[(\d*(?:;\d+)*[A-Za-z])|([\s\S])", written.decode()):
            self.code(code) if code else self.put(character)

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.down()
        else:
            assert character != "\x1b", "a code that this screen does not know"
            row = self.rows[self.row]
            if not wide(character) and 0 < self.column <= len(row):
                # It belongs to the character before it.
                at = self.column - (2 if row[self.column - 1][0] == "" else 1)
                row[at] = (row[at][0] + character, row[at][1])
                return
            if self.column + wide(character) > self.columns:
                self.down()
                self.column = 0
            row = self.rows[self.row]
            row += [(" ", frozenset())] * (self.column + wide(character) - len(row))
            row[self.column : self.column + wide(character)] = [(character, self.styles), ("", self.styles)][
                : wide(character)
            ]
            self.column += wide(character)

    def down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def code(self, code):
        count = int(code[:-1] or 1) if code[:-1].isdigit() or len(code) == 1 else 0
        if code == "2K":
            self.rows[self.row] = []
        elif code == "J":
            del self.rows[self.row][self.column :]
            del self.rows[self.row + 1 :]
        elif code[-1] == "A":
            self.row -= count
        elif code[-1] == "C":
            self.column = min(self.column + count, self.columns - 1)
        else:
            assert code[-1] == "m", f"a code that this screen does not know: {code!r}"
            for number in code[:-1].split(";"):
                self.styles = self.styles | {STYLES[number]} if number.strip("0") else frozenset()

    @property
    def lines(self):
        return ["".join(character for character, _ in row).rstrip() for row in self.rows]
