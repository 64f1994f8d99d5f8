/// DHCPv6 message between a client and servers or relays (RFC 8415, 8).
public struct DHCPv6Message: Equatable, Sendable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case solicit = 1
        case advertise, request, confirm, renew, rebind, reply, release, decline, reconfigure, informationRequest
    }

    public var kind: Kind
    /// Transaction ID of 24 bits.
    public var transaction: UInt32
    public var options: DHCPv6Options

    public init(_ kind: Kind, transaction: UInt32, options: DHCPv6Options = DHCPv6Options()) {
        (self.kind, self.transaction, self.options) = (kind, transaction & Self.largestTransaction, options)
    }

    static let largestTransaction: UInt32 = 0xff_ffff
    /// Maximum length in bytes, to fit one Ethernet packet. The kernel filter drops longer ones.
    static let longest = 1452
}

public enum DHCPv6MessageError: Error, Hashable, Sendable {
    case badLength
    /// Relay message, or an unknown type.
    case unknownKind(UInt8)
    case truncatedOption(DHCPv6Option)
    case tooManyOptions
}

extension DHCPv6Message {
    public init(reading bytes: some Collection<UInt8>) throws(DHCPv6MessageError) {
        let bytes = Array(bytes.prefix(Self.longest + 1))
        guard (4...Self.longest).contains(bytes.count) else { throw .badLength }
        guard let kind = Kind(rawValue: bytes[0]) else { throw .unknownKind(bytes[0]) }
        self.init(
            kind, transaction: bytes[1...3].reduce(0) { $0 << 8 | UInt32($1) },
            options: try DHCPv6Options(reading: bytes[4...]))
    }

    public var bytes: [UInt8] { [kind.rawValue] + transaction.bytes.dropFirst() + options.bytes }
}

/// DHCPv6 option by its code (RFC 8415, 21, unless noted).
public struct DHCPv6Option: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    static let clientIdentifier = DHCPv6Option(rawValue: 1)
    static let serverIdentifier = DHCPv6Option(rawValue: 2)
    static let association = DHCPv6Option(rawValue: 3)
    static let address = DHCPv6Option(rawValue: 5)
    static let wishes = DHCPv6Option(rawValue: 6)
    static let elapsedTime = DHCPv6Option(rawValue: 8)
    static let status = DHCPv6Option(rawValue: 13)
    static let rapidCommit = DHCPv6Option(rawValue: 14)
    /// Name servers (RFC 3646).
    static let nameServers = DHCPv6Option(rawValue: 23)
    /// Search domains (RFC 3646).
    static let searchDomains = DHCPv6Option(rawValue: 24)
    /// SNTP servers (RFC 4075).
    static let simpleTimeServers = DHCPv6Option(rawValue: 31)
    static let refreshTime = DHCPv6Option(rawValue: 32)
    /// NTP servers (RFC 5908).
    static let timeServers = DHCPv6Option(rawValue: 56)
    static let longestSolicitWait = DHCPv6Option(rawValue: 82)
    static let longestInformationWait = DHCPv6Option(rawValue: 83)
    /// Captive portal (RFC 8910).
    static let captivePortal = DHCPv6Option(rawValue: 103)

    /// Options requested with an address. RFC 8415, 21.7, requires the option for the maximum wait.
    static let requested: [DHCPv6Option] = [
        .nameServers, .searchDomains, .simpleTimeServers, .timeServers, .longestSolicitWait, .captivePortal,
    ]
    static let requestedAlone: [DHCPv6Option] = [
        .nameServers, .searchDomains, .simpleTimeServers, .refreshTime, .timeServers, .longestInformationWait,
        .captivePortal,
    ]
}

/// Options of a message in their order. Duplicates are kept; the subscript returns the first.
public struct DHCPv6Options: Equatable, Sendable {
    private(set) var entries: [Entry] = []

    struct Entry: Hashable, Sendable {
        let option: DHCPv6Option
        let value: [UInt8]
    }

    /// Maximum number of options, far above any real server's, to limit the cost of a message.
    static let most = 64

    public init() {}

    init(reading field: some Collection<UInt8>) throws(DHCPv6MessageError) {
        var rest = Array(field)[...]
        while !rest.isEmpty {
            guard let code = UInt16(bytes: rest.prefix(2)) else {
                throw .truncatedOption(DHCPv6Option(rawValue: 0))
            }
            let option = DHCPv6Option(rawValue: code)
            guard let length = UInt16(bytes: rest.dropFirst(2).prefix(2)), rest.count - 4 >= Int(length) else {
                throw .truncatedOption(option)
            }
            guard entries.count < Self.most else { throw .tooManyOptions }
            append(option, rest.dropFirst(4).prefix(Int(length)))
            rest = rest.dropFirst(4 + Int(length))
        }
    }

    subscript(option: DHCPv6Option) -> [UInt8]? { entries.first { $0.option == option }?.value }

    func all(_ option: DHCPv6Option) -> [[UInt8]] { entries.filter { $0.option == option }.map(\.value) }

    /// - Parameter value: At most 65,535 bytes.
    mutating func append(_ option: DHCPv6Option, _ value: some Collection<UInt8>) {
        entries.append(Entry(option: option, value: Array(value)))
    }

    var bytes: [UInt8] {
        entries.flatMap { $0.option.rawValue.bytes + UInt16(clamping: $0.value.count).bytes + $0.value }
    }
}

/// Status of a message, an association or an address (RFC 8415, 21.13).
public struct DHCPv6Status: Hashable, Sendable {
    public let code: UInt16

    static let success = DHCPv6Status(code: 0)
    static let unspecifiedFailure = DHCPv6Status(code: 1)
    static let noAddressAvailable = DHCPv6Status(code: 2)
    static let noBinding = DHCPv6Status(code: 3)
    static let notOnLink = DHCPv6Status(code: 4)
    static let useMulticast = DHCPv6Status(code: 5)
}

extension DHCPv6Status: CustomStringConvertible {
    /// Text of the status, without the server's own text, which is untrusted.
    public var description: String {
        switch self {
        case .success: "success"
        case .unspecifiedFailure: "failure"
        case .noAddressAvailable: "no address available"
        case .noBinding: "no binding"
        case .notOnLink: "not on the link"
        case .useMulticast: "use multicast"
        default: "status \(code)"
        }
    }
}

extension DHCPv6Options {
    /// Status option: success if it is missing, failure if truncated.
    var status: DHCPv6Status {
        guard let value = self[.status] else { return .success }
        return UInt16(bytes: value.prefix(2)).map { DHCPv6Status(code: $0) } ?? .unspecifiedFailure
    }
}
