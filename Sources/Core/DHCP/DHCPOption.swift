/// DHCP option by its code (RFC 2132 unless noted).
public struct DHCPOption: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    static let pad = DHCPOption(rawValue: 0)
    static let subnetMask = DHCPOption(rawValue: 1)
    static let routers = DHCPOption(rawValue: 3)
    static let nameServers = DHCPOption(rawValue: 6)
    static let hostName = DHCPOption(rawValue: 12)
    static let domainName = DHCPOption(rawValue: 15)
    static let mtu = DHCPOption(rawValue: 26)
    static let timeServers = DHCPOption(rawValue: 42)
    /// Vendor-specific information.
    static let vendorInformation = DHCPOption(rawValue: 43)
    static let requestedAddress = DHCPOption(rawValue: 50)
    static let leaseTime = DHCPOption(rawValue: 51)
    static let overload = DHCPOption(rawValue: 52)
    static let messageType = DHCPOption(rawValue: 53)
    static let serverIdentifier = DHCPOption(rawValue: 54)
    static let parameterList = DHCPOption(rawValue: 55)
    static let text = DHCPOption(rawValue: 56)
    static let longestMessage = DHCPOption(rawValue: 57)
    static let renewalTime = DHCPOption(rawValue: 58)
    static let rebindingTime = DHCPOption(rawValue: 59)
    static let clientIdentifier = DHCPOption(rawValue: 61)
    /// Rapid commit (RFC 4039).
    static let rapidCommit = DHCPOption(rawValue: 80)
    /// Captive portal (RFC 8910).
    static let captivePortal = DHCPOption(rawValue: 114)
    /// Search domains (RFC 3397).
    static let searchDomains = DHCPOption(rawValue: 119)
    /// Classless static routes (RFC 3442).
    static let routes = DHCPOption(rawValue: 121)
    static let end = DHCPOption(rawValue: 255)

    /// Options that the client requests. Routes come before routers (RFC 3442).
    ///
    /// Omits 28, because the broadcast address follows from the mask, and 108 (RFC 8925), which would disable IPv4.
    static let requested: [DHCPOption] = [
        .subnetMask, .routes, .routers, .nameServers, .domainName, .mtu, .timeServers, .leaseTime, .serverIdentifier,
        .renewalTime, .rebindingTime, .captivePortal, .searchDomains, .vendorInformation,
    ]
}

public struct DHCPOptionError: Error, Hashable, Sendable {
    public let option: DHCPOption

    init(_ option: DHCPOption) { self.option = option }
}

/// Options of a message in their order, without duplicates.
public struct DHCPOptions: Equatable, Sendable {
    private(set) var entries: [(option: DHCPOption, value: [UInt8])] = []

    init() {}

    public static func == (left: Self, right: Self) -> Bool {
        left.entries.elementsEqual(right.entries) { $0.option == $1.option && $0.value == $1.value }
    }

    subscript(option: DHCPOption) -> [UInt8]? { entries.first { $0.option == option }?.value }

    /// Adds an option. Repeated options are concatenated (RFC 3396, 7).
    mutating func append(_ option: DHCPOption, _ value: some Collection<UInt8>) {
        if let index = entries.firstIndex(where: { $0.option == option }) {
            entries[index].value += value
        } else {
            entries.append((option, Array(value)))
        }
    }

    func address(_ option: DHCPOption) -> Result<IPv4Address?, DHCPOptionError> {
        guard let value = self[option] else { return .success(nil) }
        return Self.first(4, of: value).flatMap { IPv4Address(bytes: $0) }.map { .success($0) }
            ?? .failure(DHCPOptionError(option))
    }

    func addresses(_ option: DHCPOption) -> Result<[IPv4Address]?, DHCPOptionError> {
        guard let value = self[option] else { return .success(nil) }
        guard !value.isEmpty, value.count.isMultiple(of: 4) else { return .failure(DHCPOptionError(option)) }
        let places = stride(from: 0, to: value.count, by: 4)
        return .success(places.compactMap { IPv4Address(bytes: value[$0..<($0 + 4)]) })
    }

    func number<Number: FixedWidthInteger & UnsignedInteger>(
        _ option: DHCPOption, as _: Number.Type
    ) -> Result<Number?, DHCPOptionError> {
        guard let value = self[option] else { return .success(nil) }
        return Self.first(Number.bitWidth / 8, of: value).flatMap { Number(bytes: $0) }.map { .success($0) }
            ?? .failure(DHCPOptionError(option))
    }

    /// The first of the values of an option that a server sent more than once.
    private static func first(_ length: Int, of value: [UInt8]) -> ArraySlice<UInt8>? {
        !value.isEmpty && value.count.isMultiple(of: length) ? value.prefix(length) : nil
    }

    /// Whether an option of fixed length came more than once.
    func isRepeated(_ option: DHCPOption, length: Int) -> Bool { (self[option]?.count ?? 0) > length }
}

// MARK: Bytes

extension DHCPOptions {
    /// Parses the options of one field. An end option is not required.
    mutating func read(_ field: ArraySlice<UInt8>) throws(DHCPMessageError) {
        var rest = field
        while let code = rest.popFirst(), code != DHCPOption.end.rawValue {
            guard code != DHCPOption.pad.rawValue else { continue }
            let option = DHCPOption(rawValue: code)
            guard let length = rest.popFirst(), rest.count >= Int(length) else { throw .truncatedOption(option) }
            append(option, rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
        }
    }

    /// Encoded options. Values above 255 bytes are split.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for (option, value) in entries {
            var rest = value[...]
            repeat {
                let part = rest.prefix(255)
                bytes += [option.rawValue, UInt8(part.count)] + part
                rest = rest.dropFirst(255)
            } while !rest.isEmpty
        }
        return bytes + [DHCPOption.end.rawValue]
    }
}
