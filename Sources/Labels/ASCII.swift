/// Lets a byte be compared with a character of ASCII: `byte == "="` and `case "=":`.
func == (byte: UInt8?, character: Unicode.Scalar) -> Bool { byte.map { UInt32($0) == character.value } ?? false }
func != (byte: UInt8?, character: Unicode.Scalar) -> Bool { !(byte == character) }
func ~= (character: Unicode.Scalar, byte: UInt8) -> Bool { UInt32(byte) == character.value }
