import AgentModel

/// Combines received records into services, in bounded memory.
struct ServiceAssembly {
    /// The service type, such as `_altnet._tcp.local`.
    let type: DNSName

    private var services: [DNSName: Service] = [:]
    private var hosts: [DNSName: [Address]] = [:]

    static let maximumServices = 256
    static let maximumAddresses = 16

    private struct Service {
        var host: DNSName?
        var port: UInt16 = 0
        var attributes: [String: [UInt8]]?
    }

    /// Address of a service. Sorts in display order: IPv4, IPv6, link-local.
    private struct Address: Hashable, Comparable {
        let kind: Kind
        let text: String

        enum Kind: Int { case ipv4, ipv6, linkLocal }

        init(_ address: IPAddress, zone: String) {
            kind = address.family == .ipv4 ? .ipv4 : address.isLinkLocal ? .linkLocal : .ipv6
            text = address.description + (kind == .linkLocal ? "%" + zone : "")
        }

        static func < (left: Self, right: Self) -> Bool {
            (left.kind.rawValue, left.text) < (right.kind.rawValue, right.text)
        }
    }

    init(type: DNSName) { self.type = type }

    /// - Parameter interface: the receiving interface, used as zone of link-local addresses.
    mutating func add(_ message: DNSMessage, from interface: String) {
        let records = message.records.filter { $0.timeToLive > 0 }
        // The order matters: a record is kept only if a record of an earlier kind refers to it.
        for record in records {
            if case .pointer(let name) = record.data, record.name == type { addService(name) }
        }
        for record in records {
            switch record.data {
            case .service(let host, let port): locate(record.name, host, port)
            case .text(let strings): describe(record.name, strings)
            default: break
            }
        }
        for record in records {
            switch record.data {
            case .ipv4(let bytes), .ipv6(let bytes):
                guard let address = IPAddress(bytes: bytes) else { continue }
                addAddress(Address(address, zone: interface), to: record.name)
            default: break
            }
        }
    }

    /// Questions to ask about the services found.
    var missing: [DNSQuestion] {
        services.flatMap { name, service in
            var questions: [DNSQuestion] = []
            if let host = service.host {
                if hosts[host, default: []].isEmpty { questions = [.init(host, .ipv4), .init(host, .ipv6)] }
            } else {
                questions.append(.init(name, .service))
            }
            if service.attributes == nil { questions.append(.init(name, .text)) }
            return questions
        }
    }

    /// Services with known host and port, sorted by name.
    var instances: [ServiceInstance] {
        let found = services.compactMap { name, service -> (label: [UInt8], instance: ServiceInstance)? in
            guard let host = service.host, let label = name.labels.first else { return nil }
            let instance = ServiceInstance(
                name: String(decoding: label, as: UTF8.self), host: host, port: Int(service.port),
                addresses: hosts[host, default: []].sorted().map(\.text), attributes: service.attributes ?? [:])
            return (label, instance)
        }
        return found.sorted { left, right in
            if left.instance.name != right.instance.name { return left.instance.name < right.instance.name }
            // Labels with different invalid bytes can decode to the same name.
            return left.label.lexicographicallyPrecedes(right.label)
        }.map(\.instance)
    }

    private mutating func addService(_ name: DNSName) {
        guard name.parent == type, services[name] == nil, services.count < Self.maximumServices else { return }
        services[name] = Service()
    }

    private mutating func locate(_ name: DNSName, _ host: DNSName, _ port: UInt16) {
        guard services[name] != nil, port > 0, !host.labels.isEmpty else { return }
        if let old = services[name]?.host, old != host,
            !services.contains(where: { $0.key != name && $0.value.host == old })
        {
            hosts[old] = nil
        }
        services[name]?.host = host
        services[name]?.port = port
    }

    private mutating func describe(_ name: DNSName, _ strings: [[UInt8]]) {
        guard services[name] != nil else { return }
        var attributes: [String: [UInt8]] = [:]
        for string in strings {
            // RFC 6763, 6.4: the first value of a repeated key counts, and empty keys are skipped.
            guard let equals = string.firstIndex(of: UInt8(ascii: "=")), equals > 0 else { continue }
            let key = String(decoding: string[..<equals], as: UTF8.self).lowercased()
            if attributes[key] == nil { attributes[key] = Array(string[(equals + 1)...]) }
        }
        services[name]?.attributes = attributes
    }

    private mutating func addAddress(_ address: Address, to host: DNSName) {
        guard services.contains(where: { $0.value.host == host }) else { return }
        var addresses = hosts[host, default: []]
        guard !addresses.contains(address), addresses.count < Self.maximumAddresses else { return }
        addresses.append(address)
        hosts[host] = addresses
    }
}

/// A service instance in the network (RFC 6763).
public struct ServiceInstance: Sendable, Equatable {
    /// Display name. Untrusted: escape it before you show it.
    public let name: String
    /// Host name, such as `lamp.local`.
    public let host: DNSName
    public let port: Int
    /// IPv4 addresses, then IPv6 ones; link-local addresses have their zone (`fe80::1%wlan0`).
    public let addresses: [String]
    /// TXT attributes with keys in lower case.
    public let attributes: [String: [UInt8]]

    public init(name: String, host: DNSName, port: Int, addresses: [String], attributes: [String: [UInt8]]) {
        self.name = name
        self.host = host
        self.port = port
        self.addresses = addresses
        self.attributes = attributes
    }
}

extension ServiceInstance {
    /// Name of an altnet device; nil without a valid one.
    public var deviceName: DeviceName? {
        attributes["name"].flatMap { String(validating: $0, as: UTF8.self) }.flatMap { try? DeviceName($0) }
    }

    /// ID of an altnet device; nil unless it is 1 to 64 printable ASCII characters without spaces.
    public var deviceId: String? {
        guard let id = attributes["id"], (1...64).contains(id.count), id.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        return String(decoding: id, as: UTF8.self)
    }
}
