import Testing

@testable import DNS

@Suite struct ServiceAssemblyTests {
    private let type = DNSName.altnetDevices

    private func name(_ label: String) -> DNSName { DNSName(labels: [Array(label.utf8)] + type.labels) ?? type }
    private func host(_ label: String) -> DNSName { DNSName("\(label).local") ?? type }

    private func message(_ records: [(DNSName, DNSRecord.Data)], timeToLive: UInt32 = 10) -> DNSMessage {
        DNSMessage(records: records.map { DNSRecord(name: $0.0, timeToLive: timeToLive, data: $0.1) })
    }

    @Test func oneMessageIsEnough() throws {
        var assembly = ServiceAssembly(type: type)
        assembly.add(try DNSMessage(reading: DNSMessageTests.answer), from: "wlan0")
        let lamp = ServiceInstance(
            name: "Lamp", host: host("lamp"), port: 25_863, addresses: ["192.168.1.5", "fe80::1%wlan0"],
            attributes: ["v": Array("1".utf8), "id": Array("lamp-01".utf8)])
        #expect(assembly.instances == [lamp])
        #expect(lamp.deviceId == "lamp-01")
        #expect(assembly.missing.isEmpty)
    }

    /// As systemd-resolved answers: what was asked, and nothing besides.
    @Test func whatIsMissingIsAskedFor() {
        var assembly = ServiceAssembly(type: type)
        assembly.add(message([(type, .pointer(name("Lamp")))]), from: "eth0")
        #expect(assembly.instances.isEmpty)
        #expect(Set(assembly.missing) == [DNSQuestion(name("Lamp"), .service), DNSQuestion(name("Lamp"), .text)])
        assembly.add(
            message([(name("lamp"), .service(host: host("lamp"), port: 4000)), (name("LAMP"), .text([]))]), from: "eth0"
        )
        #expect(Set(assembly.missing) == [DNSQuestion(host("lamp"), .ipv4), DNSQuestion(host("lamp"), .ipv6)])
        #expect(assembly.instances.map(\.addresses) == [[]])
        assembly.add(message([(host("lamp"), .ipv4([10, 0, 0, 1]))]), from: "eth0")
        #expect(assembly.missing.isEmpty)
        #expect(assembly.instances.map(\.addresses) == [["10.0.0.1"]])
        #expect(assembly.instances.map(\.name) == ["Lamp"])
    }

    /// The order of records in a message says nothing.
    @Test func recordsComeInAnyOrder() throws {
        let answer = try DNSMessage(reading: DNSMessageTests.answer)
        var (forward, backward) = (ServiceAssembly(type: type), ServiceAssembly(type: type))
        forward.add(answer, from: "eth0")
        backward.add(DNSMessage(records: answer.records.reversed()), from: "eth0")
        #expect(forward.instances == backward.instances)
    }

    /// Found by the fuzzer `mdns`: labels that are no text make one name, and such services came in any order; later,
    /// only where the names of their hosts differed in the case of a letter.
    @Test func namesThatLookAlikeHaveAnOrder() {
        let labels = (0x80...0x8f).map { [UInt8(ascii: "L"), UInt8($0)] }
        let names = labels.compactMap { DNSName(labels: [$0] + type.labels) }
        let records = names.enumerated().flatMap { index, name in
            [
                (type, .pointer(name)),
                (name, .service(host: host(["Lamp", "desk", "lamp"][index % 3]), port: UInt16(1 + index))),
            ] as [(DNSName, DNSRecord.Data)]
        }
        for _ in 0..<8 {
            var assembly = ServiceAssembly(type: type)
            assembly.add(message(records), from: "eth0")
            #expect(assembly.instances.map(\.port) == Array(1...16))
        }
    }

    @Test func oneDeviceInTwoNetworksIsOne() throws {
        var assembly = ServiceAssembly(type: type)
        let answer = try DNSMessage(reading: DNSMessageTests.answer)
        for interface in ["eth0", "wlan0", "eth0"] { assembly.add(answer, from: interface) }
        #expect(assembly.instances.map(\.addresses) == [["192.168.1.5", "fe80::1%eth0", "fe80::1%wlan0"]])
    }

    @Test func unaskedRecordsAreNotKept() {
        var assembly = ServiceAssembly(type: type)
        assembly.add(
            message([
                (host("printer"), .pointer(name("Lamp"))), (type, .pointer(host("lamp"))), (type, .pointer(type)),
                (name("Desk"), .service(host: host("desk"), port: 1)), (host("desk"), .ipv4([10, 0, 0, 1])),
            ]), from: "eth0")
        #expect(assembly.missing.isEmpty)
        #expect(assembly.instances.isEmpty)
    }

    @Test func whatIsTakenBackIsNotThere() {
        var assembly = ServiceAssembly(type: type)
        assembly.add(message([(type, .pointer(name("Lamp")))], timeToLive: 0), from: "eth0")
        #expect(assembly.missing.isEmpty)
    }

    @Test func aFloodIsBounded() {
        var assembly = ServiceAssembly(type: type)
        for number in 0..<2000 { assembly.add(message([(type, .pointer(name("Lamp \(number)")))]), from: "eth0") }
        #expect(assembly.missing.count == 2 * ServiceAssembly.maximumServices)
        assembly.add(message([(name("Lamp 1"), .service(host: host("lamp"), port: 1))]), from: "eth0")
        for number in 0..<2000 {
            assembly.add(
                message([(host("lamp"), .ipv4([10, 0, UInt8(number / 256), UInt8(number % 256)]))]), from: "eth0")
        }
        #expect(assembly.instances.map(\.addresses.count) == [ServiceAssembly.maximumAddresses])
    }

    @Test(arguments: [
        (["id=lamp-01"], "lamp-01"), (["ID=a", "id=b"], "a"), (["id="], nil), (["id"], nil), (["=x", "id=y=z"], "y=z"),
        (["id=a b"], nil), (["id=\u{e9}"], nil), (["id=" + String(repeating: "x", count: 65)], nil), ([], nil),
    ])
    func theIdIsAmongTheAttributes(strings: [String], id: String?) {
        var assembly = ServiceAssembly(type: type)
        assembly.add(
            message([
                (type, .pointer(name("Lamp"))), (name("Lamp"), .service(host: host("lamp"), port: 1)),
                (name("Lamp"), .text(strings.map { Array($0.utf8) })),
            ]), from: "eth0")
        #expect(assembly.instances.map(\.deviceId) == [id])
    }

    @Test func portsAndHostsThatCannotBeAreNone() {
        var assembly = ServiceAssembly(type: type)
        assembly.add(
            message([(type, .pointer(name("Lamp"))), (name("Lamp"), .service(host: host("lamp"), port: 0))]),
            from: "eth0")
        #expect(assembly.instances.isEmpty)
    }
}
