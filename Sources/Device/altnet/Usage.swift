import AppProtocol
import ArgumentParser

extension Altnet {
    /// Runs the command line and returns the exit status.
    static func run(_ arguments: [String]) async -> Int32 {
        let console = Console.current
        let arguments = withPresentName(arguments)
        // The parser would show the help of all commands.
        if arguments.prefix(indexOfCommand(arguments)).last == "help", let unknown = UnknownCommand.find(in: arguments)
        {
            unknown.report(console)
            return exitCode(for: ValidationError("")).rawValue
        }
        do {
            var command = try await asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ExitStatus.success.rawValue
        } catch {
            report(error, of: arguments, console)
            return exitCode(for: error).rawValue
        }
    }

    /// Prints what the parser threw: help or an error.
    private static func report(_ error: any Error, of arguments: [String], _ console: Console) {
        let message = message(for: error)
        // A wide text, because `wrapped` aligns the lines better than the parser.
        let full = fullMessage(for: error, columns: 10_000)
        guard exitCode(for: error) != .success else {
            guard !full.isEmpty else { return }
            let isHelp = full.hasPrefix("OVERVIEW: ")
            let width = console.style.goesToTerminal ? console.style.width : 80
            return console.print(verbatim: isHelp ? full.wrapped(to: width) : full)
        }
        if let unknown = UnknownCommand.find(in: arguments) { return unknown.report(console) }
        guard !message.isEmpty else { return }
        console.complain(sentence(message))
        // Most commands have the options that select a device. They hide the command's own.
        let common = String(DeviceOptions.usageString().drop { $0 != "[" })
        let usage = full.dropFirst((_errorPrefix + message + "\n").count).replacing(common, with: "[<options>]")
        if !usage.isEmpty { console.advise(String(usage)) }
    }

    /// Returns a message of the parser in the style of this program: lower case, no full stop.
    private static func sentence(_ message: String) -> String {
        let isName = message.dropFirst().first?.isUppercase ?? false
        let text = isName ? message : message.prefix(1).lowercased() + message.dropFirst()
        return (text.hasSuffix(".") ? String(text.dropLast()) : text)
            .replacing(". Did you mean", with: ": did you mean").replacing(". Please provide", with: ": provide")
    }
}

/// A word in the place of a command that is not the name of one.
struct UnknownCommand: Equatable {
    let word: String
    /// The commands before the word.
    let path: [String]
    /// The command that the user probably meant.
    let suggestion: String?

    /// - Returns: nil if all commands are known.
    static func find(in arguments: [String]) -> UnknownCommand? {
        var command: any ParsableCommand.Type = Altnet.self
        var path = [Altnet._commandName]
        for word in arguments.dropFirst(Altnet.indexOfCommand(arguments)) {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !word.hasPrefix("-") else { return nil }
            guard let next = commands.first(where: { $0._commandName == word }) else {
                let names = commands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
                return UnknownCommand(word: word, path: path, suggestion: nearest(to: word, of: names))
            }
            command = next
            path.append(word)
        }
        return nil
    }

    func report(_ console: Console) {
        let command = path.joined(separator: " ")
        let advice = suggestion.map { "did you mean '\($0)'?" } ?? "'\(command) --help' lists them"
        console.complain("unknown command '\(word.printable)': \(advice)")
        console.advise("Usage: \(command) <subcommand>\n  See '\(command) --help' for more information.")
    }

    private static func nearest(to word: String, of names: [String]) -> String? {
        if word.count > 1, let longer = names.first(where: { $0.hasPrefix(word) }) { return longer }
        let distances = names.map { (name: $0, distance: distance(Array($0), Array(word.lowercased().prefix(64)))) }
        return distances.filter { $0.distance <= min(2, word.count - 1) }.min { $0.distance < $1.distance }?.name
    }

    /// Number of inserted, deleted, replaced and transposed characters between two words.
    private static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var rows = [Array(0...second.count)]
        for (row, character) in first.enumerated() {
            var next = [row + 1]
            for (column, other) in second.enumerated() {
                var best = min(
                    rows[row][column] + (character == other ? 0 : 1), rows[row][column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, character == second[column - 1], first[row - 1] == other {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                next.append(best)
            }
            rows.append(next)
        }
        return rows[first.count][second.count]
    }
}
