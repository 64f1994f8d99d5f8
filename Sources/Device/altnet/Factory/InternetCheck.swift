import Agent
import AgentModel
import ArgumentParser
import Connectivity
import Glibc
import KeyFile

/// Server that the device asks to check for internet access. Without one, the device sees a captive portal only if the
/// network announces it (RFC 8910).
enum InternetCheck: Equatable {
    /// A server of the owner, which answers with 204.
    case server(ValidationSource)
    case debian
    case nothing

    /// The server that Debian's NetworkManager asks (package network-manager-config-connectivity-debian).
    private static let debianServer = (url: "http://network-test.debian.org/nm", body: "NetworkManager is online")

    private static let names = ["ALTNET_VALIDATION_URL", "ALTNET_VALIDATION_STATUS", "ALTNET_VALIDATION_BODY"]
    /// Line that stores the answer `nothing`, so that the question is not asked again.
    private static let refusal = "# No server for the internet check, as the owner has answered."

    /// - Throws: `CommandFailure` with a sentence for the user.
    init(_ answer: String) throws {
        switch answer.split(separator: " ").joined(separator: " ").lowercased() {
        case "", "none": self = .nothing
        case "debian": self = .debian
        default:
            // The settings file would need escapes for these.
            guard answer.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"'\\$`".utf8.contains($0) }) else {
                throw CommandFailure(.badData, "the URL must be ASCII without spaces and \"'\\$`")
            }
            do throws(InvalidValidationSource) { self = .server(try ValidationSource(url: answer)) } catch {
                throw CommandFailure(.badData, "the URL cannot be used: \(error)")
            }
        }
    }

    private var lines: [String] {
        switch self {
        case .server(let source): ["ALTNET_VALIDATION_URL=\(source.address)"]
        case .debian:
            [
                "ALTNET_VALIDATION_URL=\(Self.debianServer.url)",
                "ALTNET_VALIDATION_BODY=\"\(Self.debianServer.body)\"",
            ]
        case .nothing: [Self.refusal]
        }
    }

    static let question = """
        Which server should the device ask to check for internet access? Without one it sees a sign-in page only if the
        network announces it.
          http://...   your own server, which must answer with 204
          debian       Debian's server, which NetworkManager asks too: \(debianServer.url)
          none         no check
        Server [none]:
        """ + " "

    /// Asks and stores the answer, unless the settings file has one. Without a terminal, or if the answer cannot be
    /// stored, only warns.
    static func ask(for path: String, _ console: Console) {
        do {
            let file = try Content(of: path)
            guard !file.isSettled else { return }
            for _ in 1...3 {
                guard let answer = try? console.askText(question) else { return }
                do {
                    let check = try InternetCheck(answer)
                    return try file.settle(check)
                } catch let failure as CommandFailure where failure.status == .badData {
                    console.complain(failure.message)
                }
            }
        } catch {
            console.complain("the answer was not stored: \(CommandFailure(of: error)?.message ?? "\(error)")")
        }
    }

    /// Whether the settings file has an answer; true for an unreadable file.
    static func isChosen(in path: String) -> Bool { (try? Content(of: path))?.isSettled ?? true }

    /// Stores the answer instead of an earlier one. It takes effect when the agent starts.
    /// - Throws: `CommandFailure` if the settings would be invalid, or `KeyFileError`. The file is then as before.
    func store(in path: String) throws { try Content(of: path).settle(self) }

    /// A settings file.
    private struct Content {
        let path: String
        private let rows: [ArraySlice<UInt8>]
        /// Indices of the rows with an answer.
        private let answers: Set<Int>

        var isSettled: Bool { !answers.isEmpty }

        init(of path: String) throws {
            // The file that a link names is replaced, not the link.
            let target = realpath(path, nil)
            defer { free(target) }
            self.path = target.map { String(cString: $0) } ?? path
            let bytes: [UInt8]
            do throws(KeyFileError) {
                bytes = try PrivateFile.read(self.path, maximum: AgentSettings.maximumFileLength)
            } catch {
                guard case .system(_, _, ENOENT) = error else { throw error }
                bytes = []
            }
            guard bytes.count <= AgentSettings.maximumFileLength else {
                throw CommandFailure(.badSettings, "\(path.printable) is too large")
            }
            let rows = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            self.rows = rows
            let refusals = rows.indices.filter { rows[$0].starts(with: InternetCheck.refusal.utf8) }
            answers = Set(AgentSettings.rows(setting: InternetCheck.names, in: bytes) + refusals)
        }

        func settle(_ check: InternetCheck) throws {
            var kept = rows.indices.filter { !answers.contains($0) }.map { rows[$0] }
            while kept.last?.isEmpty == true { kept.removeLast() }
            let text = (kept + check.lines.map { ArraySlice($0.utf8) }).map { $0 + [UInt8(ascii: "\n")] }
            try PrivateFile.write(Array(text.joined()), to: path, replacing: true, keepingOwner: true) { new in
                _ = try AgentSettings.ofThisMachine(file: new)
            }
        }
    }
}

extension InternetCheck: ExpressibleByArgument {
    init?(argument: String) {
        guard let check = try? InternetCheck(argument) else { return nil }
        self = check
    }
}
