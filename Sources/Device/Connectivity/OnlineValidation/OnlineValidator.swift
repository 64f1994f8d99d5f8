import AgentModel

/// Finds out whether a network leads to the internet, by asking the source that was set.
public struct OnlineValidator: Sendable {
    /// Of the answer's body, in bytes: whatever is longer is not what was expected.
    static let bodyLimit = 4096
    /// Ten packets' headers of TCP and IPv4, as they were measured.
    static let connectionCost = 540

    public let source: ValidationSource
    private let client = WebClient()

    public init(source: ValidationSource) { self.source = source }

    /// Asks once. Never fails otherwise than by its finding.
    ///
    /// - Parameter limit: for the name, the connection and the answer together.
    public func look(through network: InterfaceNetwork, within limit: Duration) async -> ValidationLook {
        let exchange = await client.exchange(
            WebRequest(.get, source.address), through: network, limits: WebLimits(time: limit, body: body))
        let finding: ValidationFinding =
            switch exchange.result {
            case .success(let answer): ValidationFinding(answer, expected: source.expected)
            case .failure(let failure): .failed(failure.problem)
            }
        return ValidationLook(finding: finding, cost: exchange.bytes + Self.connectionCost)
    }

    /// Of a foreign page no more than what shows that it is one.
    private var body: WebLimits.Body {
        switch source.expected {
        case .status: .first(1)
        case .body: .first(Self.bodyLimit)
        }
    }
}

/// The result of asking the source of validation.
public enum ValidationFinding: Sendable, Equatable {
    /// The answer was what it has to be.
    case online
    /// Another server answered in its place: the user has to sign in first.
    ///
    /// - Parameter portal: where to, if the network told; printable ASCII.
    case captive(portal: String?)
    case failed(ReachProblem)
}

/// A finding, and what it cost.
public struct ValidationLook: Sendable, Equatable {
    public let finding: ValidationFinding
    /// In bytes, both directions, with an allowance for what TCP and IP need around it.
    public let cost: Int

    public init(finding: ValidationFinding, cost: Int) { (self.finding, self.cost) = (finding, cost) }
}

extension ValidationFinding {
    /// As NetworkManager, Android and Chromium decide it; where they differ, Docs/validation.md says why so.
    init(_ answer: WebAnswer, expected: ValidationSource.Expectation) {
        switch answer.status {
        // RFC 6585, 6: the network itself says so.
        case 511: self = .captive(portal: nil)
        case 300...399: self = .captive(portal: answer.location?.description)
        case 200...299 where answer.isAsExpected(expected): self = .online
        // There is no sign-in on an empty page: it comes of a broken proxy.
        case 200...299 where answer.body.isEmpty: self = .failed(.unexpectedAnswer)
        case 200...299: self = .captive(portal: nil)
        default: self = .failed(.unexpectedAnswer)
        }
    }
}

extension WebAnswer {
    fileprivate func isAsExpected(_ expected: ValidationSource.Expectation) -> Bool {
        switch expected {
        case .status(let status): self.status == status
        case .body(let text): isWhole && String(validating: body, as: UTF8.self)?.trimmingEnd() == text
        }
    }
}

/// The server to ask whether a network leads to the internet, and the answer that it has to give. It is the maker's
/// own: there is none by default.
public struct ValidationSource: Sendable, Equatable {
    public enum Expectation: Sendable, Equatable {
        /// 200 to 299.
        case status(Int)
        /// A successful answer with this text; white space at its end does not count.
        case body(String)
    }

    public static let defaultStatus = 204
    /// In bytes.
    public static let maximumBodyLength = 1024

    public let address: WebAddress
    public let expected: Expectation

    /// - Parameters:
    ///   - url: begins with `http://`.
    ///   - status: 200 to 299, as a user writes it; nil for 204, unless a body is given.
    ///   - body: the expected content of the answer; nil if its status alone decides.
    /// - Throws: `InvalidValidationSource`, which says what to do.
    public init(url: String, status: String? = nil, body: String? = nil) throws(InvalidValidationSource) {
        do {
            address = try WebAddress(url)
        } catch {
            throw .url(error)
        }
        // A captive network cannot answer in the place of a server that proves its identity.
        guard address.scheme == .http else { throw .encrypted }
        switch (status, body) {
        case (_?, _?): throw .statusAndBody
        case (nil, let body?):
            let expectation = body.trimmingEnd()
            guard (1...Self.maximumBodyLength).contains(expectation.utf8.count) else { throw .body }
            expected = .body(expectation)
        case (let status, nil):
            guard let status else {
                expected = .status(Self.defaultStatus)
                return
            }
            guard status.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(status),
                (200...299).contains(status)
            else { throw .status }
            expected = .status(status)
        }
    }
}

/// Why there is no source of validation.
public enum InvalidValidationSource: Error, Equatable, CustomStringConvertible {
    case url(InvalidWebAddress)
    case encrypted
    case status
    case body
    case statusAndBody

    public var description: String {
        switch self {
        case .url(let reason): "the validation URL cannot be used: \(reason); write it as http://HOST/PATH"
        case .encrypted:
            "the validation URL has to begin with http://, for over https:// a captive network "
                + "cannot be told from a broken one"
        case .status: "the validation status is a number from 200 to 299, such as \(ValidationSource.defaultStatus)"
        case .body: "the validation body is 1 to \(ValidationSource.maximumBodyLength) bytes of text"
        case .statusAndBody: "set the validation status or the validation body, not both"
        }
    }
}

extension String {
    func trimmingEnd() -> String {
        guard let last = unicodeScalars.lastIndex(where: { !" \t\r\n".unicodeScalars.contains($0) }) else { return "" }
        return String(unicodeScalars[...last])
    }
}

/// The verdict on a network by its source of validation and its captive portal API.
///
/// Whether it leads to the internet is what the source shows: a network that says of itself that it is open may still
/// lead nowhere. The API says where to sign in.
public struct OnlineVerdict: Sendable, Equatable {
    public var internet: InternetState
    /// Why not, where `internet` is `no` or `captive`.
    public var problem: ReachProblem?
    /// The page to sign in at: by the API, or else by the redirection of the question.
    public var portal: String?

    /// - Parameters:
    ///   - finding: nil if there is no source of validation.
    ///   - state: nil if the network has no API, or it said nothing that could be understood.
    public init(finding: ValidationFinding?, state: CaptiveState?) {
        switch (finding, state?.isCaptive) {
        case (.online, _): (internet, problem) = (.yes, nil)
        case (.captive, _), (.failed, true), (nil, true): (internet, problem) = (.captive, .captive)
        case (.failed(let found), _): (internet, problem) = (.no, found)
        case (nil, _): (internet, problem) = (.unknown, nil)
        }
        portal = state?.userPortal?.description
        if portal == nil, case .captive(let hint) = finding { portal = hint }
    }
}

/// The cost limit of validation: questions and bytes an hour. An allowance that was not
/// used is kept for an hour at most.
///
/// When nothing is left, nothing is asked: the verdict before stands until ``next(at:)``.
public struct ValidationBudget: Sendable {
    /// Four times what an interval of 30 s needs.
    public static let defaultProbesPerHour = 480
    /// A question costs about 1 kB.
    public static let defaultBytesPerHour = 1_000_000

    private var probes: TokenBucket
    private var bytes: TokenBucket

    /// - Parameters:
    ///   - probesPerHour: 1 to 3600.
    ///   - bytesPerHour: 1 to 1 000 000 000.
    public init(probesPerHour: Int = defaultProbesPerHour, bytesPerHour: Int = defaultBytesPerHour) {
        probes = TokenBucket(min(probesPerHour, 3600), per: .seconds(3600), burst: min(probesPerHour, 3600))
        bytes = TokenBucket(bytesPerHour, per: .seconds(3600), burst: bytesPerHour)
    }

    /// Takes one question, if there is one and there are bytes for it.
    public mutating func takeProbe(at now: Instant) -> Bool {
        guard next(at: now) <= now else { return false }
        probes.take()
        return true
    }

    /// Tells what the question cost; more than was left is missing later.
    public mutating func spent(bytes count: Int) { bytes.take(count) }

    /// When the next question may be asked; not before now.
    public mutating func next(at now: Instant) -> Instant {
        now + max(probes.delay(at: now), bytes.delay(at: now))
    }
}
