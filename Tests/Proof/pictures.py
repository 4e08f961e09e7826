"""README's pictures of a terminal, docs/pictures/*.svg: a shell on a real pseudo-terminal runs each command against a
demo server, and the picture that is there shows what the program shows today, but for times. `pictures.py --write`
draws those that differ."""

import difflib
import html
import itertools
import re
import sys
import threading
import xml.etree.ElementTree

import page_lines
from harness import ROOT, Serve, Tally, on_terminal, options, run_ladle, until
from screen import STYLES, Screen, wide

writing = "--write" in sys.argv and sys.argv.remove("--write") is None
options()
tally = Tally()
FOLDER = ROOT / "docs/pictures"
COLUMNS = 88
# One character, the margin, and the size of the letters; a line is 20 high.
WIDTH, LINE, EDGE, SIZE = 8.4, 20, 18, 14
LOOK = """
    text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3 }
    rect { fill: #0d1117; stroke: #30363d }
    .bold { font-weight: bold } .dim { fill: #8d96a0 }
    .green { fill: #3fb950 } .yellow { fill: #d29922 } .red { fill: #ff7b72 } .cyan { fill: #39c5cf }
    @media (prefers-color-scheme: light) {
      text { fill: #1f2328 } rect { fill: #ffffff; stroke: #d1d9e0 } .dim { fill: #59636e }
      .green { fill: #1a7f37 } .yellow { fill: #9a6700 } .red { fill: #cf222e } .cyan { fill: #1b7c83 }
    }
""" % SIZE


def drawn(title, screen):
    """The picture as SVG: text of one style is one element, stretched to its columns whatever the font is."""
    height = LINE * len(screen.rows) + 2 * EDGE
    width = round(WIDTH * COLUMNS + 2 * EDGE)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="title desc" xml:space="preserve">',
        f'  <title id="title">{html.escape(title, quote=False)}</title>',
        f'  <desc id="desc">{html.escape(chr(10).join(screen.lines), quote=False)}</desc>',
        f"  <style>{LOOK}  </style>",
        f'  <rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for number, row in enumerate(screen.rows):
        y, column = EDGE + LINE * number + SIZE, 0
        # A wide character stands alone: fonts do not agree how wide it is.
        for (styles, alone), cells in itertools.groupby(
            row, lambda cell: (cell[1], cell[0] == "" or wide(cell[0][0]) == 2)
        ):
            cells = list(cells)
            text = "".join(character for character, _ in cells)
            if text.strip():
                classes = f' class="{" ".join(sorted(styles))}"' if styles else ""
                length = (
                    "" if alone else f' textLength="{len(text.strip()) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
                )
                x = EDGE + (column + len(text) - len(text.lstrip())) * WIDTH
                out.append(
                    f'  <text x="{x:.1f}" y="{y}"{classes}{length}>{html.escape(text.strip(), quote=False)}</text>'
                )
            column += len(cells)
    return "\n".join([*out, "</svg>", ""])


def on_shell(*answers):
    """What a person sees who types into a shell: pairs of what is shown first and what is then typed."""
    code, written = on_terminal(
        ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"], COLUMNS, ENVIRONMENT, answers=answers
    )
    last = answers[-1][0].encode()
    assert last in written, f"{last} did not come: {written}"
    return written


def with_messages():
    """The other side of `ladle watch`: a message and its reply, then one whose command waits for an approval."""
    until(lambda: server.status()["events"]["subscribers"] == 1, what="the watcher")
    for words in (["--wait", "look up date, weather and sunset in parallel"], ["approve rm -r build"]):
        run_ladle("send", *words, env={**ENVIRONMENT, "HOME": str(place)})


def watch():
    sender = threading.Thread(target=with_messages)
    sender.start()
    question = "? a allows it once, d denies it"
    written = on_shell(("$ ", b"ladle watch\n"), (question, b"d"), ("user-denied", b"\x03"), ("$ ", b"exit\n"))
    sender.join()
    return Screen(COLUMNS, written[: written.index(question.encode()) + len(question)])


def send():
    written = on_shell(
        ("$ ", b"ladle send --wait 'append the weather to weather.txt'\n"),
        ("weather.txt`.", b"ladle send --wait 'edit the notes'\n"),
        ("second line.", b"exit\n"),
    )
    return Screen(COLUMNS, written[: written.rindex(b"exit\r\n", 0, written.rindex(b"exit"))])


def parts(picture, name):
    return list(xml.etree.ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}" + name))


def told(picture):
    """What a picture shows and how, without what differs from run to run."""
    return [part.text for name in ("title", "style") for part in parts(picture, name)] + [
        (part.get("class"), page_lines.shape(part.text)) for part in parts(picture, "text")
    ]


place = page_lines.folder()
server = Serve("--demo-speed", "1").linked()
ENVIRONMENT = {
    "LADLE_SOCKET": f"{server.state}/ladle.sock",
    "PATH": f"{place}/bin:/usr/bin:/bin",
    "HOME": str(place),
    "PS1": "$ ",
    "TZ": "UTC",
}
TITLES = {
    "watch": "ladle watch on a terminal: a message, the steps of its run, the reply, and a command that waits",
    "send": "ladle send --wait on a terminal: two messages, the steps of their runs, the replies",
}
readme = (ROOT / "README.md").read_text()
for name, scene in (("watch", watch), ("send", send)):
    picture, file = drawn(TITLES[name], scene()), FOLDER / f"{name}.svg"
    if writing and not (file.exists() and told(file.read_text()) == told(picture)):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(picture)
        print(f"pictures: {file.relative_to(ROOT)}, {len(picture.encode())} bytes")
    there = file.read_text()
    if not tally.check(
        told(there) == told(picture),
        f"docs/pictures/{name}.svg is not what the program shows: `pictures.py --write` draws it",
    ):
        print(
            "\n".join(
                difflib.unified_diff(
                    *([str(one) for one in told(one)] for one in (there, picture)), "there", "shown", lineterm=""
                )
            )
        )
    seen = " ".join(part.text for part in parts(there, "text"))
    tally.check(
        page_lines.shape(parts(there, "desc")[0].text) == page_lines.shape(seen), f"{name}.svg describes what it shows"
    )
    tally.check(not re.search(r"<script|href|url\(|<image|@import", there), f"{name}.svg needs nothing else")
    tally.check(f"](docs/pictures/{name}.svg)" in readme, f"README shows {name}.svg")
    classes = {one for part in parts(there, "text") for one in (part.get("class") or "").split()}
    tally.check(
        classes <= set(STYLES.values()) and classes <= set(re.findall(r"\.([a-z]+) {", LOOK)),
        f"{name}.svg has styles that nobody draws",
    )
tally.check({path.stem for path in FOLDER.iterdir()} == set(TITLES), "each picture has a scene")
tally.end()
