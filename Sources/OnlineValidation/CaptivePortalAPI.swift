import AgentModel
import InterfaceNetwork

/// Asks a network about itself (RFC 8908), at the address that came with its DHCP answers (RFC 8910, option 114).
public struct CaptivePortalAPI: Sendable {
    /// In bytes.
    public static let bodyLimit = 16 * 1024
    static let contentType = "application/captive+json"

    private let client: WebClient

    public init(client: WebClient = WebClient()) { self.client = client }

    /// - Parameters:
    ///   - url: as the network gave it.
    ///   - limit: for the name, the connection and the answer together.
    public func ask(
        _ url: String, through network: InterfaceNetwork, within limit: Duration
    ) async throws(CaptivePortalFailure) -> CaptiveState {
        let address = try Self.address(url)
        let answer: WebAnswer
        do {
            answer = try await client.fetch(
                WebRequest(.get, address, accept: Self.contentType), through: network,
                limits: WebLimits(time: limit, body: .whole(upTo: Self.bodyLimit)))
        } catch {
            throw .web(error)
        }
        guard answer.status == 200 else { throw .status(answer.status) }
        guard answer.contentType == Self.contentType else { throw .contentType }
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
        }
    }
}
