import AgentModel

@testable import DNS

extension FuzzTarget {
    /// It is read or refused; what is read is bounded and can be shown, and its questions can be asked again as they
    /// are.
    static let dns = FuzzTarget(
        "dns", "what a name server or a responder sends", longest: 1024, goal: 100_000_000,
        seeds: { DNSSample.all }
    ) { bytes in
        guard let message = try? DNSMessage(reading: bytes) else { return }
        precondition(message.answers.count <= message.records.count, "more answers than records")
        for name in message.questions.map(\.name) + message.records.map(\.name) { check(name) }
        for record in message.records {
            switch record.data {
            case .alias(let name), .pointer(let name), .service(let name, _): check(name)
            case .ipv4(let bytes): precondition(bytes.count == 4, "an address of another length")
            case .ipv6(let bytes): precondition(bytes.count == 16, "an address of another length")
            case .text(let strings): precondition(strings.allSatisfy { $0.count <= 255 }, "a string that is too long")
            case .other: break
            }
        }
        // Compressed, questions may be more than a message has room for without.
        let query = DNSMessage(asking: message.questions, id: message.id, recursively: message.wantsRecursion)
        guard query.query.count <= DNSMessage.maximumLength else { return }
        guard let again = try? DNSMessage(reading: query.query) else { preconditionFailure("a query cannot be read") }
        precondition(again == query, "a query reads otherwise once it is written")
    }
}

private func check(_ name: DNSName) {
    precondition(name.labels.allSatisfy { (1...63).contains($0.count) }, "a label of a length that there is not")
    precondition(name.labels.reduce(1) { $0 + $1.count + 1 } <= 255, "a name that is too long")
    precondition(name.description.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "a name that cannot be shown")
}

extension FuzzTarget {
    /// Messages of a link, one after the other: what is kept is bounded and can be shown, and there is an end to what
    /// is asked.
    static let mdns = FuzzTarget(
        "mdns", "answers to multicast DNS, put together to services", longest: 2048,
        seeds: { [FuzzInput.joined(DNSSample.all)] + DNSSample.all.map { FuzzInput.joined([$0, $0]) } }
    ) { bytes in
        var input = FuzzInput(bytes)
        let messages = input.parts().compactMap { try? DNSMessage(reading: $0) }
        var (assembly, again) = (ServiceAssembly(type: .altnetDevices), ServiceAssembly(type: .altnetDevices))
        for (index, message) in messages.enumerated() {
            assembly.add(message, from: index.isMultiple(of: 2) ? "wlan0" : "eth0")
            again.add(message, from: index.isMultiple(of: 2) ? "wlan0" : "eth0")
            check(assembly)
        }
        precondition(assembly.instances == again.instances, "the same messages make other services")
    }
}

private func check(_ assembly: ServiceAssembly) {
    let instances = assembly.instances
    precondition(instances.count <= ServiceAssembly.maximumServices)
    precondition(assembly.missing.count <= 3 * ServiceAssembly.maximumServices)
    for instance in instances {
        precondition((1...65_535).contains(instance.port) && !instance.host.labels.isEmpty)
        precondition(instance.addresses.count <= ServiceAssembly.maximumAddresses)
        precondition(Set(instance.addresses).count == instance.addresses.count)
        for address in instance.addresses {
            precondition(IPAddress(address.prefix { $0 != "%" }) != nil, "an address that is none")
        }
        precondition(instance.attributes.allSatisfy { $0.key == $0.key.lowercased() && $0.value.count <= 255 })
        precondition((instance.deviceId?.utf8.count ?? 1) <= 64)
    }
}

enum DNSSample {
    /// A query, an answer of a name server, and the answer of a responder, compressed.
    static let all: [[UInt8]] = [
        header(flags: [1, 0], [1, 0, 0, 0]) + label("example") + label("com") + [0, 0, 1, 0, 1],
        header(flags: [0x81, 0x80], [1, 2, 0, 0]) + label("www") + label("example") + [0, 0, 1, 0, 1]
            + [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xc0, 16] + [
                0xc0, 16, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1,
            ],
        Array(responder.joined()),
    ]

    /// PTR, SRV, TXT, A and AAAA.
    private static let responder: [[UInt8]] = [
        header(flags: [0x84, 0], [1, 1, 0, 4]), label("_altnet"), label("_tcp"), label("local"), [0, 0, 12, 0, 1],
        // The instance is at 48, the host at 73, local at 25.
        [0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 10, 0, 7], label("Lamp"), [0xc0, 12],
        [0xc0, 48, 0, 33, 0, 1, 0, 0, 0, 10, 0, 13, 0, 0, 0, 0, 0x65, 0x07], label("lamp"), [0xc0, 25],
        [0xc0, 48, 0, 16, 0x80, 1, 0, 0, 0, 10, 0, 15], label("v=1"), label("ID=lamp-01"),
        [0xc0, 73, 0, 1, 0, 1, 0, 0, 0, 10, 0, 4, 192, 168, 1, 5],
        [0xc0, 73, 0, 28, 0, 1, 0, 0, 0, 10, 0, 16, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]

    private static func header(flags: [UInt8], _ counts: [UInt8]) -> [UInt8] {
        [0x12, 0x34] + flags + counts.flatMap { [0, $0] }
    }

    private static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}
