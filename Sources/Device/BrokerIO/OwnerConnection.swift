import AgentModel
import FleetOperator
import Linux
import MQTTBridge

/// Connection of a fleet's owner to the broker. Reconnects when it ends.
package struct OwnerConnection {
    private let address: BrokerAddress
    private let user: String?
    private let secrets: BrokerSecrets
    private let name: String
    private var link: BrokerConnection?
    private var isUp = false
    private var retry: Instant?
    private var published = 0
    /// Reason of the last failed connection.
    package private(set) var problem: String?

    package enum News {
        case connected
        case message(IncomingMessage)
        case lost
        case refused(String)
    }

    static let retryAfter = Duration.seconds(3)

    /// - Parameter run: end of the client ID, which must be unique at the broker.
    package init(_ address: BrokerAddress, user: String?, _ secrets: BrokerSecrets, run: String) {
        (self.address, self.user, self.secrets, name) = (address, user, secrets, "altnet-fleet-\(run)")
        connect()
    }

    private mutating func connect() {
        retry = nil
        let hello = BrokerHello(
            clientID: name, keepAlive: .seconds(60), sessionExpiry: .zero, maximumPacket: BridgeLimits.packet,
            receiveMaximum: 100, will: nil, willDelay: .zero)
        do throws(BrokerFault) { link = try BrokerConnection(hello, to: address, user: user, secrets) } catch {
            fail("\(error)")
        }
    }

    private mutating func fail(_ text: String) {
        (link, isUp, problem) = (nil, false, text)
        retry = .now + Self.retryAfter
    }

    /// Waits for events of the connection, until `end` at the latest.
    /// - Parameter other: another descriptor. The wait also ends when it becomes readable.
    package mutating func wait(until end: Instant?, _ other: Int32?) -> [News] {
        let others = other.map { [($0, Readiness.readable)] } ?? []
        let waits = [link?.wait].compactMap(\.self)
        let limits = [end.map { $0 - .now }, retry.map { $0 - .now }, link?.patience].compactMap(\.self)
        let isReady = Readiness.wait(
            for: others + waits, within: limits.min().map { max($0, .zero) })
        if let retry, retry <= .now { connect() }
        guard let link else { return [] }
        link.proceed(isReady: isReady.dropFirst(others.count).contains(true))
        var news: [News] = []
        for event in link.drainEvents() {
            switch event {
            case .brokerAccepted:
                isUp = true
                news.append(.connected)
            case .brokerFailed(let failure):
                if isUp { news.append(.lost) }
                fail(failure.text)
            case .message(let message): news.append(.message(message))
            case .publishRefused(_, let reason), .subscriptionRefused(let reason): news.append(.refused(reason))
            default: break
            }
        }
        return news
    }

    /// Waits once and passes the news to a rollout.
    /// - Returns: refusals of the broker.
    package mutating func carryOn(_ rollout: inout Rollout, until end: Instant, _ other: Int32? = nil) -> [String] {
        var refusals: [String] = []
        for news in wait(until: min(rollout.deadline ?? end, end), other) {
            switch news {
            case .connected: subscribe(rollout.connected(at: .now))
            case .message(let message): publish(rollout.handle(message, at: .now))
            case .lost: rollout.lost()
            case .refused(let reason): refusals.append(reason)
            }
        }
        if let deadline = rollout.deadline, deadline <= .now { publish(rollout.tick(at: .now)) }
        return refusals
    }

    package func subscribe(_ list: [Subscription]) { link?.subscribe(list) }

    package mutating func publish(_ messages: [OutgoingMessage]) {
        for message in messages {
            published = published == Int(UInt16.max) ? 1 : published + 1
            link?.publish(published, message)
        }
    }

    package func end() { link?.close(isGoodbye: true) }
}
