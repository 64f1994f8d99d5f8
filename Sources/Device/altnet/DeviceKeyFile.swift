import AgentModel
import AppProtocol
import KeyFile

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file in which whoever uses a device keeps its key: one line, the pairing code as `altnet pair` writes it, or the
/// local key alone, as it is in the device's own `local-key`.
struct DeviceKeyFile {
    let path: String

    /// - Parameter deviceId: the device that is meant, or nil if the file says it.
    /// - Throws: `CommandFailure`, which says nothing of what the file holds.
    func read(deviceId: String?) throws -> DeviceKey {
        var content: [UInt8]
        do { content = try PrivateFile.read(path, maximum: PairingCode.maximumLength + 2) } catch {
            guard case .system(_, _, ENOENT) = error else { throw CommandFailure(error) }
            throw CommandFailure(.badData, "there is no key file at \(path.printable)")
        }
        defer { content.withUnsafeMutableBytes { wipe($0) } }
        let line = content.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return line.starts(with: PairingCode.scheme.utf8)
            ? try pairedDevice(line, deviceId) : try device(Secret(line), deviceId)
    }

    private func pairedDevice(_ code: some Collection<UInt8>, _ deviceId: String?) throws -> DeviceKey {
        let device: DeviceKey
        do { device = try PairingCode(reading: code).device } catch {
            throw CommandFailure(.badData, "\(path.printable): \(error)")
        }
        if let deviceId, deviceId != device.deviceId {
            throw CommandFailure(
                .badData, "\(path.printable) has the key of \(device.deviceId), and not of \(deviceId.printable)")
        }
        return device
    }

    private func device(_ key: Secret, _ deviceId: String?) throws -> DeviceKey {
        guard let deviceId else {
            throw CommandFailure(
                .badData, "\(path.printable) does not say whose key it holds: give the device's id with --device-id")
        }
        do { return try DeviceKey(deviceId: deviceId, localKey: key) } catch {
            throw CommandFailure(.badData, "\(path.printable), id \(deviceId.printable): \(error.message)")
        }
    }

    /// Says so where the key is no secret on this machine.
    func warn(_ console: Console) {
        guard isExposed else { return }
        console.advise("warning: other users can read \(path.printable), the device's key: chmod 600 it")
    }

    /// Whether other users of this machine can read it. What is no file, such as a pipe, has an end and no mode to go by.
    private var isExposed: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o044 != 0
    }
}
