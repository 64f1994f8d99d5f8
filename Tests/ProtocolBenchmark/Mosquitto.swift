import Foundation
import PipedPrograms

/// A broker, and one client of it that sends messages to itself: MQTT 3.1.1, quality of service 0.
final class Mosquitto {
    private let program: PipedProgram
    private let connection: Int32
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-bench-mqtt-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let port = UInt16.random(in: 30_000...60_000)
        try "listener \(port) 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nlog_dest none\n"
            .write(toFile: folder + "/configuration", atomically: true, encoding: .utf8)
        do {
            // Where Debian has it, which is not in everybody's PATH.
            program = try PipedProgram("/usr/sbin/mosquitto", ["-c", folder + "/configuration"])
        } catch {
            throw BenchmarkError("there is no mosquitto: make bench-protocol installs it")
        }
        connection = try Self.connect(to: port)
        try send([0x10, 18, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 0, 0, 6] + Array("altnet".utf8))
        try expect(4)
        try send([0x82, 8, 0, 1, 0, 3] + Array("a/b".utf8) + [0])
        try expect(5)
    }

    /// A message to the broker and back, as long as the answer to `network.get`.
    func roundTrip() throws {
        let payload = [UInt8](repeating: 0x61, count: Self.payload)
        let rest = 5 + payload.count
        let message = [0x30, UInt8(rest % 128) | 0x80, UInt8(rest / 128), 0, 3] + Array("a/b".utf8) + payload
        try send(message)
        try expect(message.count)
    }

    /// Bytes: about what the answer to `network.get` has.
    private static let payload = 300

    func stop() {
        close(connection)
        program.end()
        program.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The broker needs a moment to listen.
    private static func connect(to port: UInt16) throws -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        for _ in 0..<500 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 {
                var yes: Int32 = 1
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                return descriptor
            }
            close(descriptor)
            usleep(10_000)
        }
        throw BenchmarkError("mosquitto does not listen on port \(port)")
    }

    private func send(_ bytes: [UInt8]) throws {
        guard write(connection, bytes, bytes.count) == bytes.count else {
            throw BenchmarkError("mosquitto took no more")
        }
    }

    private func expect(_ count: Int) throws {
        var buffer = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let more = read(connection, &buffer, count - received)
            guard more > 0 else { throw BenchmarkError("mosquitto has closed the connection") }
            received += more
        }
    }
}
