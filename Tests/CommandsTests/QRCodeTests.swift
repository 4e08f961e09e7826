import Basics
import Testing

@testable import Commands

/// Expected pictures come from other encoders.
struct QRCodeTests {
    private static func text(_ code: QRCode, _ light: Character, _ dark: Character) -> String {
        code.modules.map { row in String(row.map { $0 ? dark : light }) }.joined(separator: "\n")
    }

    @Test func `a small code has each module in its place`() throws {
        let code = try #require(QRCode(Array("ladle".utf8), version: 1, .medium, mask: 3))
        #expect(
            Self.text(code, ".", "#") == """
                #######.#.#.#.#######
                #.....#.##..#.#.....#
                #.###.#..##...#.###.#
                #.###.#.###...#.###.#
                #.###.#...##..#.###.#
                #.....#....##.#.....#
                #######.#.#.#.#######
                ........#..##........
                #.##.###.#.##.#..#.##
                #..#.....#.####...#.#
                #..#.####..#.......##
                .#.###.##.##..####.#.
                ##..#.#..#..#..#...##
                ........#..#..#......
                #######.#..##..#.....
                #.....#.#......#####.
                #.###.#..#..#########
                #.###.#.#..#..#.####.
                #.###.#.#.#.#.##..#..
                #.....#..#...#.#....#
                #######.###..#.##.#..
                """
        )
    }

    /// Version, bytes that fill it and the checksum of the picture, with correction L and with M.
    static let full: [(version: Int, low: Int, lowSum: UInt32, medium: Int, mediumSum: UInt32)] = [
        (1, 17, 0xDD61_DCD6, 14, 0x1D7E_2296),
        (2, 32, 0x3B32_4E65, 26, 0xA423_29A7),
        (3, 53, 0x26D5_8F84, 42, 0x0F4B_A12A),
        (4, 78, 0x827E_25E7, 62, 0x1D7B_F9E3),
        (5, 106, 0x4B86_B8BF, 84, 0xBF56_AB0A),
        (6, 134, 0x3770_4E57, 106, 0x24A0_CCC1),
        (7, 154, 0x8603_154C, 122, 0x40A7_BACF),
        (8, 192, 0xF2E8_BFDA, 152, 0xA9F5_6DE6),
        (9, 230, 0x3738_9648, 180, 0x68FC_C718),
        (10, 271, 0xF6C1_FFD9, 213, 0xF782_2FEC),
        (11, 321, 0x358E_4254, 251, 0x3E13_C4C2),
        (12, 367, 0x5CCF_6E8F, 287, 0x3016_9D10),
        (13, 425, 0xC089_B88D, 331, 0xDB3D_D70D),
        (14, 458, 0x3944_85DA, 362, 0xF22F_863A),
        (15, 520, 0x1130_391D, 412, 0x844E_5D6F),
    ]

    @Test(arguments: full)
    func `each version is drawn like everybody's, filled to the last byte`(
        _ expected: (version: Int, low: Int, lowSum: UInt32, medium: Int, mediumSum: UInt32)
    ) throws {
        let text = (0..<600).map { UInt8(33 + $0 % 90) }
        for (correction, count, sum) in [
            (QRCode.Correction.low, expected.low, expected.lowSum), (.medium, expected.medium, expected.mediumSum),
        ] {
            #expect(QRCode.capacity(expected.version, correction) == count)
            let mask = expected.version % 8
            let code = try #require(QRCode(Array(text[..<count]), version: expected.version, correction, mask: mask))
            #expect(CRC32.of(Array(Self.text(code, "0", "1").utf8)[...]) == sum)
            #expect(QRCode(Array(text[...count]), version: expected.version, correction, mask: mask) == nil)
        }
    }

    @Test func `correction is that of the usual example`() {
        let data: [UInt8] = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17]
        #expect(ReedSolomon.remainder(of: data, count: 10) == [196, 35, 39, 119, 235, 215, 231, 226, 93, 23])
    }

    @Test func `the smallest version is taken, with the stronger correction where that is free`() throws {
        func form(_ count: Int) -> [Int]? {
            QRCode([UInt8](repeating: 0x61, count: count)).map { [$0.version, $0.correction == .medium ? 1 : 0] }
        }
        #expect(form(0) == [1, 1])
        #expect(form(14) == [1, 1])
        #expect(form(15) == [1, 0])
        #expect(form(18) == [2, 1])
        #expect(form(520) == [15, 0])
        #expect(form(521) == nil)
    }

    @Test func `a picture is dark on light whatever the terminal's background is`() throws {
        let code = try #require(QRCode(Array("ladle".utf8)))
        for background in [QRPicture.Background.dark, .light, nil] {
            let lines = QRPicture.lines(of: code, on: background)
            #expect(lines.count == (code.size + 9) / 2)
            let ink: Set<Character> = ["█", "▀"]
            // The margin is four modules wide, and the finder begins behind it.
            let plain = lines.map { $0.filter { " █▀▄".contains($0) } }
            #expect(plain.allSatisfy { $0.count == QRPicture.columns(of: code) })
            let corner = Array(plain[2])[3...4].map(ink.contains)
            #expect(corner == (background == .dark ? [true, false] : [false, true]))
            #expect(lines[0].hasPrefix("\u{1b}[38;5;16;48;5;231m") == (background == nil))
        }
    }
}
