import AgentModel
import DBus

@testable import Improv

extension FuzzTarget {
    /// The bytes as pieces that a phone writes over Bluetooth, and as they come on a serial line: a command is whole and
    /// within its bounds, and the same whichever way it was cut, and what the device answers fits its packet.
    static let improv = FuzzTarget(
        "improv", "what a phone in radio range writes to Improv's service, or a browser to its serial line",
        longest: 1024,
        seeds: { ImprovSample.all }
    ) { bytes in
        var assembler = ImprovAssembler()
        var machine = ImprovMachine(
            ImprovSettings(authorization: .init(window: .seconds(60), isGivenAtStart: true)), medium: .bluetooth,
            at: start)
        _ = machine.handle(.device(ImprovSample.device), at: start)
        for (index, piece) in pieces(of: bytes).enumerated() {
            let now = Instant(milliseconds: Int64(index) * 10)
            do throws(ImprovError) {
                if let command = try assembler.add(piece, at: now) {
                    check(command)
                    check(machine.handle(.command(command), at: now), &machine, now)
                }
            } catch {
                check(machine.handle(.refused(error), at: now), &machine, now)
            }
        }
        var whole = ImprovSerialReader()
        let found = whole.add(bytes)
        for case .success(let command) in found { check(command) }
        var cut = ImprovSerialReader()
        precondition(pieces(of: bytes).flatMap { cut.add($0) } == found, "a line reads otherwise in pieces")
    }

    /// Messages of D-Bus: what is read is written as it was, and nothing takes more than its bytes.
    static let dbus = FuzzTarget(
        "dbus", "what other programs send over the system's bus", longest: 2048, seeds: { DBusSample.all }
    ) { bytes in
        guard let message = try? DBusMessage(bytes) else { return }
        precondition((try? DBusMessage(message.encoded())) == message, "a message reads otherwise than it was written")
        _ = message.body.first?.members
        _ = message.body.first?.unwrapped.text
    }
}

private let start = Instant(milliseconds: 0)

private func check(_ command: ImprovCommand) {
    guard case .join(let ssid, let password) = command else { return }
    precondition((1...32).contains(ssid.bytes.count) && (password?.count ?? 1) <= 255)
}

private func check(_ effects: [ImprovMachine.Effect], _ machine: inout ImprovMachine, _ now: Instant) {
    for effect in effects {
        switch effect {
        case .result(let result): precondition(result.bytes.count <= 258)
        case .join: _ = machine.handle(.joined(.failed("wrongKey")), at: now)
        case .scan: _ = machine.handle(.scanned([]), at: now)
        case .state, .error, .identify, .advertise, .log: break
        }
    }
}

private enum ImprovSample {
    static let device = ImprovDevice(isProvisioned: false, pages: [], name: "a", hostName: "b", info: ["c"])

    private static func withChecksum(_ bytes: [UInt8]) -> [UInt8] { bytes + [bytes.reduce(0, &+)] }

    static var all: [[UInt8]] {
        let join: [UInt8] = [1, 6, 2] + Array("Hi".utf8) + [2] + Array("pw".utf8)
        return [
            withChecksum(join), [2, 0, 2], [4, 0, 4] + [3, 0, 3],
            withChecksum(Array("IMPROV".utf8) + [1, 3, 8] + join),
            Array("login: ".utf8) + withChecksum(Array("IMPROV".utf8) + [1, 3, 2, 2, 0]),
        ]
    }
}

private enum DBusSample {
    static var all: [[UInt8]] {
        var call = DBusMessage(
            .call, path: "/org/altnet/improv", interface: "org.bluez.GattCharacteristic1", member: "WriteValue",
            destination: ":1.2",
            body: [
                .bytes([2, 0, 2]),
                .dictionary([("device", .objectPath("/org/bluez/hci0/dev_1")), ("mtu", .uint16(23))]),
            ])
        call.serial = 7
        var signal = DBusMessage(
            .signal, path: "/", interface: "a.b", member: "C",
            body: [.array(of: "{oa{sa{sv}}}", []), .structure([.int64(-1), .double(0)]), .strings(["x"])])
        signal.serial = 1
        return [call.encoded(), signal.encoded(), DBusMessage.failure(of: call, "a.B", "c").encoded()].map { bytes in
            var bytes = bytes
            if bytes[8..<12].allSatisfy({ $0 == 0 }) { bytes[8] = 1 }
            return bytes
        }
    }
}
