import AgentModel
import AppProtocol

/// Codes that say what a device is to be: the pairing code of its label, the code of its first network, or both, a line
/// each. Empty lines, and such that begin with `#`, say nothing.
struct ProvisioningCodes {
    private(set) var device: DeviceKey?
    private(set) var network: NewNetwork?

    /// The longest file that is read, in bytes.
    static let maximumLength = 4096

    var isComplete: Bool { device != nil && network != nil }

    /// - Parameter source: what messages call it.
    init(reading text: some Collection<UInt8>, from source: String) throws {
        guard text.count <= Self.maximumLength else {
            throw CommandFailure(.badData, "\(source) is too long: it has a pairing code, a network's code, or both")
        }
        for (number, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            try add(line, from: "\(source), line \(number + 1)")
        }
        guard device != nil || network != nil else {
            throw CommandFailure(.badData, "\(source) has no code: neither altnet:pair?... nor WIFI:...")
        }
    }

    /// Asks for codes at the terminal, where a scanner may type them.
    init(asking console: Console) throws {
        while !isComplete {
            let line = try console.askPassword(
                device == nil && network == nil ? "Code of the label or of the network: " : "Another code, or none: ")
            guard line.count > 0 else { break }
            try line.withBytes { try add($0, from: "this line") }
        }
    }

    private mutating func add(_ line: some Collection<UInt8>, from source: String) throws {
        let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        var code = Array(line.drop(while: blanks.contains))
        defer { code.withUnsafeMutableBytes { wipe($0) } }
        while let last = code.last, blanks.contains(last) { code.removeLast() }
        guard let first = code.first, first != UInt8(ascii: "#") else { return }
        do {
            if Self.begins(code, with: PairingCode.scheme) {
                guard device == nil else { throw CommandFailure(.badData, "\(source): another pairing code") }
                device = try PairingCode(reading: code).device
            } else if Self.begins(code, with: NetworkCode.scheme) {
                guard network == nil else { throw CommandFailure(.badData, "\(source): another network's code") }
                network = try NetworkCode(reading: code).network
            } else {
                throw CommandFailure(.badData, "\(source) is no code: one begins with altnet:pair? or WIFI:")
            }
        } catch let error as PairingCodeError {
            throw CommandFailure(.badData, "\(source): \(error)")
        } catch let error as NetworkCodeError {
            throw CommandFailure(.badData, "\(source): \(error)")
        }
    }

    private static func begins(_ code: [UInt8], with scheme: String) -> Bool {
        String(decoding: code.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme.lowercased()
    }
}
