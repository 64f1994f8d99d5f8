import AgentModel

/// Queries a network's captive portal API (RFC 8908), whose URL DHCP announces (RFC 8910, option 114).
public struct CaptivePortalAPI: Sendable {
    /// Maximum size of a body in bytes.
    public static let bodyLimit = 16 * 1024
    static let contentType = "application/captive+json"

    private let client: WebClient

    public init(client: WebClient = WebClient()) { self.client = client }

    /// Sends one query. The result includes all failures.
    /// - Parameter limit: time for name, connection and answer together.
    public func look(_ url: String, through network: InterfaceNetwork, within limit: Duration) async -> CaptiveCheck {
        let address: WebAddress
        do throws(CaptivePortalFailure) { address = try Self.address(url) } catch {
            return CaptiveCheck(result: .failure(error), cost: 0)
        }
        let exchange = await client.exchange(
            WebRequest(.get, address, accept: Self.contentType), through: network,
            limits: WebLimits(time: limit, body: .whole(upTo: Self.bodyLimit)))
        let result: Result<CaptiveState, CaptivePortalFailure>
        do throws(CaptivePortalFailure) {
            result = .success(try Self.state(exchange.result.mapError(CaptivePortalFailure.web).get()))
        } catch {
            result = .failure(error)
        }
        return CaptiveCheck(result: result, cost: exchange.bytes + OnlineValidator.connectionCost)
    }

    private static func state(_ answer: WebAnswer) throws(CaptivePortalFailure) -> CaptiveState {
        guard answer.status == 200 else { throw .status(answer.status) }
        guard answer.contentType == contentType else { throw .contentType }
        return try CaptiveState(json: answer.body)
    }

    private static func address(_ url: String) throws(CaptivePortalFailure) -> WebAddress {
        let address: WebAddress
        do {
            address = try WebAddress(url)
        } catch {
            throw .address(error)
        }
        // Requires TLS, which proves that the answer is the network's own (RFC 8908, 4).
        guard address.scheme == .https else { throw .notEncrypted }
        return address
    }
}

/// Result of a query to a captive portal's API, with its cost.
public struct CaptiveCheck: Sendable {
    public let result: Result<CaptiveState, CaptivePortalFailure>
    /// Bytes in both directions, with an allowance for TCP and IP.
    public let cost: Int

    public init(result: Result<CaptiveState, CaptivePortalFailure>, cost: Int) {
        (self.result, self.cost) = (result, cost)
    }
}

/// Reason why a captive portal's API gave no state.
public enum CaptivePortalFailure: Error, Equatable {
    case address(InvalidWebAddress)
    case notEncrypted
    case web(WebFailure)
    case status(Int)
    case contentType
    /// The reason why the answer is unreadable.
    case malformed(String)
    /// The agent crashed while it read this network's answer.
    case leftAlone

    public var problem: ReachProblem {
        if case .web(let failure) = self { failure.problem } else { .unexpectedAnswer }
    }
}

extension CaptivePortalFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .address(let reason): "its address cannot be used: \(reason)"
        case .notEncrypted: "its address does not begin with https://"
        case .web(let failure): failure.description
        case .status(let status): "it answers with status \(status)"
        case .contentType: "its answer is not \(CaptivePortalAPI.contentType)"
        case .malformed(let reason): "its answer cannot be read: \(reason)"
        case .leftAlone: "it is skipped, because the agent crashed while reading its answer"
        }
    }
}

extension CaptiveState {
    /// Reads the API's answer (RFC 8908, 5). Unknown keys and unusable URLs are ignored.
    /// - Throws: `malformed`.
    public init(json: [UInt8]) throws(CaptivePortalFailure) {
        guard json.count <= CaptivePortalAPI.bodyLimit else { throw .malformed("it is too long") }
        let fields: Fields
        do {
            fields = try OutsideJSON.decode(Fields.self, from: json, nesting: Self.nesting)
        } catch {
            throw .malformed(error.reason)
        }
        guard [fields.secondsRemaining, fields.bytesRemaining].allSatisfy({ $0.map(Self.amounts.contains) ?? true })
        else { throw .malformed("its remaining time or volume is out of range") }
        self.init(
            isCaptive: fields.captive,
            // Drops a portal without TLS, in which any station in range could insert its own page (RFC 8908).
            userPortal: Self.address(fields.userPortal).flatMap { $0.scheme == .https ? $0.description : nil },
            venueInfo: Self.address(fields.venueInfo)?.description, canExtendSession: fields.canExtendSession,
            secondsRemaining: fields.secondsRemaining, bytesRemaining: fields.bytesRemaining)
    }

    private static func address(_ text: String?) -> WebAddress? { text.flatMap { try? WebAddress($0) } }

    /// Maximum nesting of the answer. Known members are flat, but those of later versions may nest.
    private static let nesting = 16
    /// Range of integers that every JSON reader represents exactly (RFC 8259, 6).
    private static let amounts = 0...(1 << 53) - 1

    private struct Fields: Decodable {
        let captive: Bool
        let userPortal: String?
        let venueInfo: String?
        let canExtendSession: Bool?
        let secondsRemaining: Int?
        let bytesRemaining: Int?

        enum CodingKeys: String, CodingKey {
            case captive
            case userPortal = "user-portal-url"
            case venueInfo = "venue-info-url"
            case canExtendSession = "can-extend-session"
            case secondsRemaining = "seconds-remaining"
            case bytesRemaining = "bytes-remaining"
        }
    }
}

extension Error {
    /// Description of the error. The only text from the network in it is known names.
    fileprivate var reason: String {
        switch self as? JSONFault {
        case .notUTF8: "it is not UTF-8 text"
        case .nestsTooDeep: "it is nested too deeply"
        case .notJSON: "it is not valid JSON"
        case nil: (self as? DecodingError)?.reason ?? "it is not a JSON object"
        }
    }
}

extension DecodingError {
    fileprivate var reason: String {
        switch self {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty,
            .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has the wrong type"
        default: "it is not a JSON object"
        }
    }
}
