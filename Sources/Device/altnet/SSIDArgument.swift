import AgentModel
import ArgumentParser

/// An SSID as this program prints it: `\xNN` is a byte, and a backslash is doubled.
struct SSIDArgument: ExpressibleByArgument, Equatable {
    let ssid: SSID

    init?(argument: String) {
        var bytes: [UInt8] = []
        var rest = Array(argument.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(byte)
            case UInt8(ascii: "x"):
                guard let escaped = Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self)), escaped.count == 1
                else { return nil }
                bytes += escaped
                rest = rest.dropFirst(2)
            default: return nil
            }
        }
        guard let ssid = try? SSID(bytes: bytes) else { return nil }
        self.ssid = ssid
    }

    var defaultValueDescription: String { ssid.description }
}
