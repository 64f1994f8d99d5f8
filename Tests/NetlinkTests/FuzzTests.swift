import AgentModel
import Randomness
import Testing

@testable import Netlink

/// Nothing that arrives may bring the agent down: random bytes, and real messages damaged at random.
@Suite(.timeLimit(.minutes(1))) struct FuzzTests {
    private func decodeEverything(_ bytes: [UInt8]) {
        let messages = Array(NetlinkDatagram(bytes))
        var table = RouteTable()
        for message in messages {
            _ = Acknowledgement(message)
            _ = GenericNetlinkFamily(message)
            _ = BSS(message, now: Instant(milliseconds: 0))
            _ = BSS.isAssociated(message)
            _ = StationInfo(message)
            _ = WirelessInterface(message)
            _ = RadioEvent(message)
            _ = Way(message.payload)
            for type in UInt16(16)...33 {
                let message = NetlinkMessage(
                    type: type, flags: message.flags, sequence: 0, port: 0, payload: message.payload)
                _ = RouteSubject(message)
                guard let news = RouteMessage(message) else { continue }
                _ = table.apply(news, from: .news) { _ in .other }
                for link in table.links.values { _ = table.uplink(over: link) }
            }
        }
        _ = Phy(messages)?.stationConcurrency
        _ = InformationElements(bytes[...]).security(isPrivate: true)
    }

    @Test func randomBytes() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<20_000 { decodeEverything(random.bytes(count: Int.random(in: 0...96, using: &random))) }
    }

    @Test func randomPayloads() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<20_000 {
            let payload = random.bytes(count: Int.random(in: 0...96, using: &random))
            var request = NetlinkRequest(type: UInt16.random(in: 0...64, using: &random), fixedPart: [])
            request.attributes.put(Int.random(in: 0...48, using: &random), bytes: payload)
            decodeEverything(
                request.encoded(flags: Int32.random(in: 0...0xffff, using: &random), sequence: 0, port: 0))
        }
    }

    @Test func damagedMessages() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<20_000 {
            var message = Fixture.all.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) { message = random.damage(message) }
            decodeEverything(message)
        }
    }

    @Test func damagedElements() {
        var random = SeededRandom(seed: 4)
        let valid = bytes(
            """
            00 04 486f6d65
            30 18 0100 000fac04 0100 000fac04 0200 000fac02 000fac08 0000
            dd 16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202
            dd 0f 506f9a1c 020000000200 04 486f6d65
            """)
        for _ in 0..<20_000 { decodeEverything(random.damage(random.damage(valid))) }
    }
}
