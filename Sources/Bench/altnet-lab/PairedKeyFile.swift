import AgentModel
import AppProtocol
import ArgumentParser
import FoundationEssentials
import Glibc

/// File with the device's key. It contains a pairing code, or only the local key.
struct PairedKeyFile {
    let path: String

    var isThere: Bool { access(path, F_OK) == 0 }

    /// - Parameter deviceId: ID of the device, which is necessary if the file has only a local key.
    func read(deviceId: String?) throws -> DeviceKey {
        let line = try line
        if line.starts(with: PairingCode.scheme.utf8) {
            let device = try PairingCode(reading: line).device
            guard deviceId == nil || deviceId == device.deviceId else {
                throw ValidationError("the file has the key of another device: \(path)")
            }
            return device
        }
        guard let deviceId else {
            throw ValidationError("the file does not name its device, give --device-id: \(path)")
        }
        return try DeviceKey(deviceId: deviceId, localKey: Secret(line))
    }

    /// - Throws: `ValidationError` if the file has no pairing code.
    func readCode() throws -> DeviceKey {
        let line = try line
        do throws(PairingCodeError) { return try PairingCode(reading: line).device } catch {
            throw ValidationError("\(path): \(error)")
        }
    }

    private var line: Data {
        get throws {
            guard let content = try? Data(contentsOf: URL(filePath: path)),
                content.count <= PairingCode.maximumLength + 2
            else { throw ValidationError("not a key file: \(path)") }
            return content.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        }
    }

    /// Creates the file with mode 0600. Fails if it exists.
    func write(_ code: PairingCode) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError("write \(path)") }
        defer { close(file) }
        let line = code.uri() + "\n"
        guard Glibc.write(file, line, line.utf8.count) == line.utf8.count else { throw SystemError("write \(path)") }
    }
}
