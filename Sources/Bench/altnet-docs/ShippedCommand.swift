enum ShippedCommand {
    static func text(of makefile: String) throws -> String {
        let compile = try variable("COMPILE", in: makefile)
        let link = try variable("LINK", in: makefile)
        return "```\nswift build -c release --product altnet \(compile) \\\n    \(link)\n```"
    }

    private static func variable(_ name: String, in makefile: String) throws -> String {
        let start = "\(name) := "
        guard let line = makefile.split(separator: "\n").first(where: { $0.hasPrefix(start) }) else {
            throw MissingVariable(name: name)
        }
        return String(line.dropFirst(start.count))
    }

    struct MissingVariable: Error, CustomStringConvertible {
        let name: String

        var description: String { "the Makefile has no variable \(name)" }
    }
}
