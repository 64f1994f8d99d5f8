import AgentModel
import AppProtocol
import ArgumentParser
import FleetOperator
import Glibc
import Linux

/// Reads and writes the files of a fleet's owner. After an error, prints it and throws `ExitCode`.
enum FleetFile {
    private static let longest = 64 << 20

    static func change(_ path: String) throws -> FleetChange {
        var bytes = try read(path, isSecret: true)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        do throws(ProtocolError) { return try FleetChange(file: bytes) } catch {
            throw failure("\(path.printable): \(error.message)")
        }
    }

    static func keys(file path: String) throws -> [String: DeviceKey] {
        var bytes = try read(path, isSecret: true)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        return try keys(bytes, from: path)
    }

    /// Runs a command, such as that of a password store, and reads the keys that it prints.
    static func keys(command: String) throws -> [String: DeviceKey] {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw failure("\(SystemError("make a pipe"))") }
        let child: pid_t
        do throws(SystemError) {
            child = try ChildProcess.start(
                "/bin/sh", ["-c", command], environment: ChildProcess.ownEnvironment, output: .descriptor(ends[1]),
                errors: .descriptor(STDERR_FILENO))
        } catch {
            for end in ends { close(end) }
            throw failure("\(error)")
        }
        close(ends[1])
        defer { close(ends[0]) }
        var bytes = try read(ends[0], "the command for the keys")
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        let status = ChildProcess.wait(for: child)
        guard status == 0 else { throw failure("the command for the keys failed with status \(status)") }
        return try keys(bytes, from: "the command for the keys")
    }

    private static func keys(_ bytes: [UInt8], from name: String) throws -> [String: DeviceKey] {
        do throws(DeviceKeyLines.Fault) {
            return try DeviceKeyLines.read(bytes)
        } catch { throw failure("\(name.printable), \(error)") }
    }

    /// - Returns: nil if the file does not exist yet.
    static func record(_ path: String, of change: FleetChange) throws -> RolloutRecord? {
        guard access(path, F_OK) == 0 else { return nil }
        let bytes = try read(path, isSecret: false)
        do throws(ProtocolError) {
            let record = try RolloutRecord(file: bytes)
            guard record.changeId == change.staging.changeId else {
                throw ProtocolError(
                    .malformed,
                    "belongs to another change, give another file with --state: \(record.changeId.printable)")
            }
            return record
        } catch { throw failure("\(path.printable): \(error.message)") }
    }

    static func write(_ record: RolloutRecord, to path: String) throws {
        do throws(SystemError) { try DurableFile.write(record.text, to: path) } catch { throw failure("\(error)") }
    }

    /// - Parameter isSecret: whether to refuse a file that others can read.
    private static func read(_ path: String, isSecret: Bool) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure("\(SystemError("read \(path.printable)"))") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure("\(SystemError("read \(path.printable)"))") }
        // A pipe has no mode to check.
        guard !isSecret || status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o077 == 0 else {
            throw failure("other users can read this secret file, chmod 600 it: \(path.printable)")
        }
        return try read(file, path.printable)
    }

    private static func read(_ file: Int32, _ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("\(SystemError("read \(name)"))") }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= longest else { throw failure("\(name) has more than \(longest) bytes") }
        }
    }

    private static func failure(_ text: String) -> ExitCode {
        complain(text)
        return ExitCode(EX_DATAERR)
    }
}
