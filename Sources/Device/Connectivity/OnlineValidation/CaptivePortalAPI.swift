import AgentModel

/// Asks a network about itself (RFC 8908), at the address that came with its DHCP answers (RFC 8910, option 114).
public struct CaptivePortalAPI: Sendable {
    /// In bytes.
    public static let bodyLimit = 16 * 1024
    static let contentType = "application/captive+json"

    private let client: WebClient

    public init(client: WebClient = WebClient()) { self.client = client }

    /// Asks once. Never fails otherwise than by its result.
    ///
    /// - Parameters:
    ///   - url: as the network gave it.
    ///   - limit: for the name, the connection and the answer together.
    public func look(_ url: String, through network: InterfaceNetwork, within limit: Duration) async -> CaptiveLook {
        let address: WebAddress
        do throws(CaptivePortalFailure) { address = try Self.address(url) } catch {
            return CaptiveLook(result: .failure(error), cost: 0)
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
        return CaptiveLook(result: result, cost: exchange.bytes + OnlineValidator.connectionCost)
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
        // RFC 8908, 4: only so is it certain that the answer is the network's own.
        guard address.scheme == .https else { throw .notEncrypted }
        return address
    }
}

/// What a network said of itself, and what it cost to ask.
public struct CaptiveLook: Sendable {
    public let result: Result<CaptiveState, CaptivePortalFailure>
    /// In bytes, both directions, with an allowance for TCP and IP.
    public let cost: Int

    public init(result: Result<CaptiveState, CaptivePortalFailure>, cost: Int) {
        (self.result, self.cost) = (result, cost)
    }
}

/// Why a network's captive portal API says nothing.
public enum CaptivePortalFailure: Error, Equatable {
    case address(InvalidWebAddress)
    case notEncrypted
    case web(WebFailure)
    /// It answers, but not with 200.
    case status(Int)
    /// The answer is not `application/captive+json`.
    case contentType
    /// What is wrong with the answer.
    case malformed(String)
    /// The agent died while it read what this network says.
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
        case .leftAlone: "it is left alone, for the agent ended while it was being read"
        }
    }
}
