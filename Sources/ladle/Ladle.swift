@main struct Ladle { static func main() {} }
