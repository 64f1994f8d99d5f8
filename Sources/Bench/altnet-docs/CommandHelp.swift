import Foundation

/// Help of all `altnet` commands, as dumped by the program.
struct CommandHelp: Decodable {
    private let command: Command

    private struct Command: Decodable {
        let commandName: String
        let abstract: String?
        let discussion: String?
        let subcommands: [Command]?
    }

    /// Runs the `altnet` program next to this program.
    static func ofAltnet() throws -> CommandHelp {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("altnet")
        let process = Process()
        process.executableURL = program
        process.arguments = ["--experimental-dump-help"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode(CommandHelp.self, from: output)
    }

    var commandTable: String {
        func rows(_ command: Command, _ names: [String]) -> [[String]] {
            let names = names + [command.commandName]
            guard let commands = command.subcommands, !commands.isEmpty else {
                return command.commandName == "help"
                    ? [] : [[Markdown.code(names.joined(separator: " ")), command.abstract ?? ""]]
            }
            return commands.flatMap { rows($0, names) }
        }
        return Markdown.table(["command", "does"], rows(command, []))
    }

    func exitStatusTable() throws -> String {
        let lines = (command.discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { $0 != "EXIT STATUS" }.dropFirst().prefix { $0.hasPrefix("  ") }.map {
            line -> [String] in
            let words = line.split(separator: " ")
            return [words.first.map(String.init) ?? "", words.dropFirst().joined(separator: " ")]
        }
        guard !rows.isEmpty else { throw NoExitStatus() }
        return Markdown.table(["status", "means"], rows)
    }

    struct NoExitStatus: Error, CustomStringConvertible {
        var description: String { "the help of altnet has no section EXIT STATUS" }
    }
}
