import AgentModel
import Testing

@testable import DHCP

/// The server of the setup access point.
@Suite final class DHCPServerTests {
    private static let own = IPv4Address("192.168.73.1") ?? .unspecified
    private static let portal = "http://192.168.73.1/"
    private var server = DHCPServer(settings: DHCPServer.Settings(address: own, portal: portal))
    private var now = Instant(milliseconds: 1_000_000)

    private static func phone(_ number: UInt16) -> HardwareAddress {
        HardwareAddress(bytes: [2, 0, 0, 1] + number.bytes) ?? .zero
    }

    private static func message(
        _ kind: DHCPMessage.Kind, from phone: UInt16, asking address: IPv4Address? = nil, of server: IPv4Address? = nil,
        having current: IPv4Address = .unspecified, wishes: [DHCPOption] = [.subnetMask, .captivePortal],
        isRapid: Bool = false
    ) -> DHCPMessage {
        var message = DHCPMessage(.request, kind, transaction: UInt32(phone), hardware: Self.phone(phone))
        message.clientAddress = current
        if let address { message.options.append(.requestedAddress, address.bytes) }
        if let server { message.options.append(.serverIdentifier, server.bytes) }
        message.options.append(.parameterList, wishes.map(\.rawValue))
        if isRapid { message.options.append(.rapidCommit, []) }
        return message
    }

    private static func packet(_ message: DHCPMessage) -> [UInt8] {
        UDPDatagram(source: message.clientAddress, destination: .broadcast, payload: message.bytes).packet
    }

    private func give(_ packet: [UInt8], from phone: HardwareAddress = DHCPServerTests.phone(1)) -> DHCPServer.Answer? {
        server.handle(packet, from: phone, at: now)
    }

    /// What the server answers, as a client reads it.
    private func ask(_ message: DHCPMessage) throws -> DHCPMessage? {
        try give(Self.packet(message), from: message.hardware)
            .map { try DHCPMessage(reading: UDPDatagram(reading: $0.packet).payload) }
    }

    private func lease(_ phone: UInt16, asking wish: IPv4Address? = nil) throws -> IPv4Address {
        let offer = try #require(try ask(Self.message(.discover, from: phone, asking: wish)))
        #expect(offer.kind == .offer)
        let ack = try #require(try ask(Self.message(.request, from: phone, asking: offer.yourAddress, of: Self.own)))
        #expect(ack.kind == .ack && ack.yourAddress == offer.yourAddress)
        return ack.yourAddress
    }

    @Test func aPhoneGetsAddressRouterNameServerAndPortal() throws {
        let offer = try #require(try ask(Self.message(.discover, from: 1)))
        #expect(offer.kind == .offer && offer.transaction == 1 && offer.hardware == Self.phone(1))
        #expect(Subnet(of: Self.own, prefixLength: 24).hasHost(offer.yourAddress) && offer.yourAddress != Self.own)
        #expect(offer.options[.subnetMask] == [255, 255, 255, 0])
        #expect(offer.options[.routers] == Self.own.bytes && offer.options[.nameServers] == Self.own.bytes)
        #expect(offer.options[.captivePortal] == Array(Self.portal.utf8))
        #expect(offer.options[.leaseTime] == UInt32(600).bytes)
        // It is no lease before the phone has asked for it.
        #expect(server.leases(at: now).isEmpty)
        let ack = try #require(try ask(Self.message(.request, from: 1, asking: offer.yourAddress, of: Self.own)))
        #expect(ack.kind == .ack && server.leases(at: now) == [Self.phone(1): offer.yourAddress])
    }

    @Test func thePortalIsToldToThoseThatAskForIt() throws {
        let offer = try #require(try ask(Self.message(.discover, from: 1, wishes: [.subnetMask])))
        #expect(offer.options[.captivePortal] == nil)
    }

    @Test func anAnswerGoesToTheAddressThatThePhoneIsToHave() throws {
        let answer = try #require(give(Self.packet(Self.message(.discover, from: 1))))
        let datagram = try UDPDatagram(reading: answer.packet)
        #expect(answer.hardware == Self.phone(1) && datagram.source == Self.own)
        #expect(try datagram.destination == DHCPMessage(reading: datagram.payload).yourAddress)
        var message = Self.message(.discover, from: 2)
        message.wantsBroadcast = true
        let toAll = try #require(give(Self.packet(message), from: message.hardware))
        #expect(toAll.hardware == .broadcast)
        #expect(try UDPDatagram(reading: toAll.packet).destination == .broadcast)
    }

    @Test func twoMessagesAreEnough() throws {
        let ack = try #require(try ask(Self.message(.discover, from: 1, isRapid: true)))
        #expect(ack.kind == .ack && ack.options[.rapidCommit] == [])
        #expect(server.leases(at: now) == [Self.phone(1): ack.yourAddress])
    }

    @Test func aPhoneKeepsItsAddressAndComesBackToIt() throws {
        let address = try lease(1)
        now = now + .seconds(300)
        let renewed = try #require(try ask(Self.message(.request, from: 1, having: address)))
        #expect(renewed.kind == .ack && renewed.yourAddress == address && renewed.clientAddress == address)
        now = now + .seconds(10_000)
        #expect(server.leases(at: now).isEmpty)
        #expect(try lease(1) == address)
        // After a restart of the device it follows from the hardware address.
        server = DHCPServer(settings: server.settings)
        #expect(try lease(1) == address)
    }

    @Test func anAddressThatCannotBeHadIsRefused() throws {
        let taken = try lease(1)
        let others: [IPv4Address?] = [taken, Self.own, IPv4Address("192.168.1.20"), IPv4Address("192.168.73.0")]
        for address in others.compactMap(\.self) {
            #expect(try ask(Self.message(.request, from: 2, asking: address))?.kind == .nak)
            #expect(try ask(Self.message(.request, from: 2, having: address))?.kind == .nak)
        }
        #expect(server.leases(at: now) == [Self.phone(1): taken])
    }

    @Test func anotherServersOfferIsLeftAlone() throws {
        let offer = try #require(try ask(Self.message(.discover, from: 1)))
        #expect(try ask(Self.message(.request, from: 1, asking: offer.yourAddress, of: IPv4Address(bits: 1))) == nil)
        #expect(server.leases(at: now).isEmpty)
    }

    @Test func anAddressThatAnotherHostHasIsNotGivenAgain() throws {
        let address = try lease(1)
        #expect(try ask(Self.message(.decline, from: 1, asking: address, of: Self.own)) == nil)
        #expect(try lease(1, asking: address) != address)
        #expect(try lease(2, asking: address) != address)
    }

    @Test func aReleasedAddressIsFree() throws {
        let address = try lease(1)
        #expect(try ask(Self.message(.release, from: 1, of: Self.own, having: address)) == nil)
        #expect(server.leases(at: now).isEmpty)
        #expect(try lease(2, asking: address) == address)
        #expect(try lease(1) != address)
    }

    @Test func aHundredPhonesAtOnce() throws {
        let phones = Array(UInt16(1)...100)
        var offers: [IPv4Address] = []
        for phone in phones {
            let offer = try ask(Self.message(.discover, from: phone))
            offers.append(try #require(offer).yourAddress)
        }
        #expect(Set(offers).count == 100)
        for (phone, offer) in zip(phones, offers) {
            let ack = try ask(Self.message(.request, from: phone, asking: offer, of: Self.own))
            #expect(ack?.kind == .ack && ack?.yourAddress == offer)
        }
        #expect(server.leases(at: now).count == 100)
    }

    @Test func aFloodOfClientsThatAreNotThereLeavesRoomForOneThatIs() throws {
        let there = try lease(1)
        for phone in UInt16(1000)..<3000 { _ = try ask(Self.message(.discover, from: phone)) }
        #expect(server.leases(at: now) == [Self.phone(1): there])
        #expect(try lease(2) != there)
        // Where all are leases there is none left, and the client is not answered.
        for phone in UInt16(4000)..<4300 { _ = try ask(Self.message(.discover, from: phone, isRapid: true)) }
        #expect(server.leases(at: now).count <= 200)
        #expect(try ask(Self.message(.discover, from: 5000)) == nil)
        now = now + .seconds(700)
        _ = try lease(5000)
    }

    /// The link names the station that sends, so that one station cannot have the addresses of two hundred.
    @Test func aStationAsksForItselfAlone() throws {
        for phone in UInt16(1000)..<1300 {
            #expect(give(Self.packet(Self.message(.discover, from: phone, isRapid: true))) == nil)
        }
        #expect(server.leases(at: now).isEmpty)
        _ = try lease(2)
    }

    @Test func aStationThatDeclinesEveryAddressLeavesSomeToOthers() throws {
        for _ in 0..<300 {
            let offer = try #require(try ask(Self.message(.discover, from: 1)))
            _ = try ask(Self.message(.decline, from: 1, asking: offer.yourAddress, of: Self.own))
            now = now + .milliseconds(1)
        }
        for phone in UInt16(1000)..<1100 { _ = try lease(phone) }
        #expect(server.leases(at: now).count == 100)
    }

    @Test func whatIsNoQuestionIsNotAnswered() throws {
        #expect(give([]) == nil)
        let packet = Self.packet(Self.message(.discover, from: 1))
        for length in 0..<packet.count { #expect(give(Array(packet.prefix(length))) == nil) }
        var message = Self.message(.discover, from: 1)
        message.operation = .reply
        #expect(try ask(message) == nil)
        for kind in [DHCPMessage.Kind.offer, .ack, .nak, .forceRenew] {
            #expect(try ask(Self.message(kind, from: 1)) == nil)
        }
        message = Self.message(.discover, from: 1)
        message.hardware = .broadcast
        #expect(try ask(message) == nil)
        #expect(try ask(Self.message(.request, from: 1)) == nil)
        #expect(try ask(Self.message(.inform, from: 1, having: IPv4Address(bits: 7))) == nil)
        #expect(server.leases(at: now).isEmpty)
    }

    @Test(arguments: [8, 23, 24, 29, 30]) func noHostOfAnyNetworkIsTheDeviceItself(_ prefix: Int) throws {
        let subnet = Subnet(of: Self.own, prefixLength: prefix)
        server = DHCPServer(settings: DHCPServer.Settings(address: subnet.first, prefixLength: prefix))
        var given: Set<IPv4Address> = []
        for phone in UInt16(1)..<300 {
            guard let answer = try ask(Self.message(.discover, from: phone, isRapid: true)) else { continue }
            #expect(subnet.hasHost(answer.yourAddress) && answer.yourAddress != subnet.first)
            #expect(given.insert(answer.yourAddress).inserted)
        }
        #expect(given.count == min(200, (1 << (32 - prefix)) - 3))
    }

    @Test func theNetworkOverlapsWithNoneOfTheDevices() throws {
        let home = Subnet(of: try #require(IPv4Address("192.168.1.7")), prefixLength: 24)
        #expect(Subnet.free(besides: [home])?.description == "192.168.73.0/24")
        let wide = Subnet(of: try #require(IPv4Address("192.168.64.7")), prefixLength: 18)
        #expect(Subnet.free(besides: [home, wide])?.description == "192.168.128.0/24")
        #expect(Subnet.free(besides: [Subnet(of: home.network, prefixLength: 16)]) == nil)
        #expect(Subnet.free(besides: [])?.first == Self.own)
    }
}
