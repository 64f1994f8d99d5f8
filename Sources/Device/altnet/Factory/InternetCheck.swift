import Agent
import AgentModel
import Connectivity
import Glibc
import KeyFile

/// Server that the device asks whether its network leads to the internet. Without one, the device sees a captive portal
/// only if the network announces it (RFC 8910).
enum InternetCheck: Equatable {
    /// A server of the owner, which answers with 204.
    case server(ValidationSource)
    case debian
    case nothing

    /// The server that Debian's NetworkManager asks (package network-manager-config-connectivity-debian).
    private static let debianServer = (url: "http://network-test.debian.org/nm", body: "NetworkManager is online")

    private static let names = ["ALTNET_VALIDATION_URL", "ALTNET_VALIDATION_STATUS", "ALTNET_VALIDATION_BODY"]
    /// Marks the answer `nothing`, so that the question is not asked again.
    private static let refusal = "# No server for the internet check, as the owner has answered."

    /// - Throws: `CommandFailure` with a sentence for the user.
    init(_ answer: String) throws {
        switch answer.split(separator: " ").joined(separator: " ") {
        case "", "none": self = .nothing
        case "debian": self = .debian
        case let url:
            // The settings file would need escapes for these.
            guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"'\\$`".utf8.contains($0) }) else {
                throw CommandFailure(.badData, "the address has characters that need escapes: \(url.printable)")
            }
            do throws(InvalidValidationSource) { self = .server(try ValidationSource(url: url)) } catch {
                throw CommandFailure(.badData, "\(url.printable): \(error)")
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

    /// Whether the settings file has an answer.
    static func isSettled(in text: String) -> Bool { text.split(separator: "\n").contains(where: isAnswer) }

    private static func isAnswer(_ line: Substring) -> Bool {
        line == refusal || names.contains { line.hasPrefix($0 + "=") }
    }

    /// The settings file's text with this answer instead of an earlier one.
    func settled(in text: String) -> String {
        var kept = text.split(separator: "\n", omittingEmptySubsequences: false).filter { !Self.isAnswer($0) }
        while kept.last?.isEmpty == true { kept.removeLast() }
        return (kept + lines.map { Substring($0) }).joined(separator: "\n") + "\n"
    }

    static let question = """
        Where should the device look for the internet? Only there it sees a page that asks for a sign-in.
          http://...   your own server, which has to answer with 204
          debian       Debian's server, as NetworkManager asks it: \(debianServer.url)
          none         nowhere
        Server [none]:
        """ + " "

    /// Stores an answer in the settings file, or asks for one unless the file has one.
    /// - Parameters:
    ///   - answer: from the command line; nil to ask.
    ///   - path: settings file; nothing happens if it does not exist and no answer is given.
    static func settle(_ answer: String?, in path: String, _ console: Console) throws {
        guard let text = try text(of: path, isNeeded: answer != nil) else { return }
        guard answer != nil || !isSettled(in: text) else { return }
        let check = try InternetCheck(answer ?? console.askText(question))
        try PrivateFile.write(Array(check.settled(in: text).utf8), to: path, replacing: true, keepingOwner: true)
    }

    private static func text(of path: String, isNeeded: Bool) throws -> String? {
        do {
            let bytes = try PrivateFile.read(path, maximum: AgentSettings.maximumFileLength)
            guard bytes.count <= AgentSettings.maximumFileLength, let text = String(validating: bytes, as: UTF8.self)
            else { throw CommandFailure(.badSettings, "\(path.printable) is no settings file") }
            return text
        } catch KeyFileError.system(_, _, ENOENT) where !isNeeded {
            return nil
        }
    }
}
