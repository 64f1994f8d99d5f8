import AgentModel
import AppProtocol
import Glibc
import Improv
import Linux
import TestTime
import Testing

/// Improv on a terminal's other end, packet by packet of the specification (Improv 2.4), against an agent that answers.
@Suite(.timeLimit(.minutes(10))) struct ImprovSerialTests {
    /// The computer's end of a serial line.
    private final class Line: Sendable {
        let descriptor: Int32
        let device: String

        init() throws {
            descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            // TIOCSPTLCK and TIOCGPTN, which are what unlockpt(3) and ptsname(3) ask.
            var (lock, number): (CInt, CUnsignedInt) = (0, 0)
            try #require(
                descriptor >= 0 && ioctl(descriptor, 0x4004_5431, &lock) == 0
                    && ioctl(descriptor, 0x8004_5430, &number) == 0)
            device = "/dev/pts/\(number)"
        }

        deinit { close(descriptor) }

        func write(_ packet: [UInt8]) throws { try writeAll(packet, to: descriptor, attempting: "write to the line") }

        /// What the device sends until that many packets have come, each without its header.
        func read(_ count: Int) async throws -> [[UInt8]] {
            try await onThreadOfItsOwn { [descriptor] in
                var packets: [[UInt8]] = []
                while packets.count < count {
                    let start = try Self.bytes(10 - 1, from: descriptor)
                    let rest = try Self.bytes(Int(start[8]) + 2, from: descriptor)
                    let sum = (start + rest.dropLast(2)).reduce(0 as UInt8, &+)
                    guard start.prefix(7).elementsEqual(Array("IMPROV".utf8) + [1]), sum == rest[rest.count - 2],
                        rest.last == 10
                    else { throw SystemError("read a packet", errno: EBADMSG) }
                    packets.append([start[7]] + rest.dropLast(2))
                }
                return packets
            }
        }

        private static func bytes(_ count: Int, from descriptor: Int32) throws(SystemError) -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count {
                var byte: UInt8 = 0
                guard Readiness.readable.wait(on: descriptor, within: .seconds(60)),
                    Glibc.read(descriptor, &byte, 1) == 1
                else { throw SystemError("read the line") }
                bytes.append(byte)
            }
            return bytes
        }
    }

    private static func command(_ data: [UInt8]) -> [UInt8] {
        let packet = Array("IMPROV".utf8) + [1, 3, UInt8(data.count)] + data
        return packet + [packet.reduce(0, &+), 10]
    }

    private static func result(_ command: UInt8, _ texts: [String]) -> [UInt8] {
        let data = texts.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        return [4, command, UInt8(data.count)] + data
    }

    private static func fresh(_ phase: SwitchPhase, _ reason: ReasonCode? = nil) throws -> ScriptedDevice {
        try ScriptedDevice { state in
            state.backups = BackupList(max: 3, revision: 1, networks: [])
            state.phases = [SwitchStatus(switchId: "s-1", phase: phase, reason: reason)]
        }
    }

    /// Runs Improv on a line, for an agent.
    private func talk(
        _ device: ScriptedDevice, logging say: @escaping @Sendable (String) -> Void = { _ in },
        _ body: (Line) async throws -> Void
    ) async throws {
        try await CommandRun.serving(device) { socket in
            let line = try Line()
            let (service, port) = try await Self.start(line.device, socket, say)
            try await body(line)
            await port.end()
            await service.end()
        }
    }

    @AgentLoop
    private static func start(
        _ path: String, _ socket: String, _ say: @escaping @Sendable (String) -> Void
    ) throws -> (ImprovService, SerialPort) {
        let service = ImprovService(
            ImprovSettings(authorization: nil), medium: .serial,
            agent: ImprovAgent(socket: socket, page: "http://{address}/"),
            identify: IdentifySignal(light: nil, program: nil, logging: say), logging: say)
        let port = SerialPort(path: path) {
            service.handle($0)
        } onEnd: { _ in
        }
        try port.start(speed: 115_200)
        service.start(port)
        return (service, port)
    }

    @Test func aBrowserGivesTheFirstNetwork() async throws {
        let device = try Self.fresh(.committed)
        try await talk(device) { line in
            #expect(try await line.read(1) == [[1, 2]])
            // A console's line, a packet with a wrong checksum, one that is unknown.
            try line.write(Array("Debian GNU/Linux 13 pump ttyGS0\n".utf8) + Self.command([2, 0]))
            #expect(try await line.read(2) == [[2, 0], [1, 2]])
            try line.write(Array("IMPROV".utf8) + [1, 3, 2, 3, 0, 0, 10])
            #expect(try await line.read(1) == [[2, 1]])
            try line.write(Self.command([9, 0]))
            #expect(try await line.read(1) == [[2, 2]])
            try line.write(Self.command([3, 0]))
            let info = try await line.read(2)
            #expect(info[1].starts(with: [4, 3]) && String(decoding: info[1], as: UTF8.self).contains("bench-01"))
            try line.write(Self.command([4, 0]))
            #expect(
                try await line.read(5) == [
                    [2, 0], Self.result(4, ["HomeNet", "-52", "YES"]),
                    Self.result(4, ["BackupNet", "-71", "YES"]), Self.result(4, ["\u{1b}[2Jevil", "-90", "YES"]),
                    [4, 4, 0],
                ])
            let join: [UInt8] = [1, 30, 12] + Array("MyWirelessAP".utf8) + [16] + Array("mysecurepassword".utf8)
            try line.write(Self.command(join))
            #expect(
                try await line.read(4) == [
                    [2, 0], [1, 3], [1, 4], Self.result(1, ["http://192.168.10.23/"]),
                ])
        }
        guard case .switchNetwork(let request)? = device.commands.last, case .new(let network) = request.target else {
            return #expect(Bool(false), "no switch")
        }
        #expect(try network.ssid == SSID("MyWirelessAP") && request.besideUplink && !request.joinOnce)
        #expect(network.credential == .password(Secret(text: "mysecurepassword")))
    }

    @Test func aWrongPasswordIsTold() async throws {
        let said = Observed("")
        try await talk(
            Self.fresh(.rolledBack, ReasonCode(rawValue: "wrongKey")), logging: { text in said.change { $0 += text } }
        ) { line in
            #expect(try await line.read(1) == [[1, 2]])
            try line.write(Self.command([1, 12, 4] + Array("Home".utf8) + [6] + Array("secret".utf8)))
            #expect(try await line.read(4) == [[2, 0], [1, 3], [2, 3], [1, 2]])
        }
        #expect(said.value.contains("Home: wrongKey") && !said.value.contains("secret"))
    }
}
