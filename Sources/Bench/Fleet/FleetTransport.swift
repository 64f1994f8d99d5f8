import AgentModel
import AppProtocol
import BrokerIO
import Glibc
import Linux
import MQTTBridge

/// A fleet's clock and its way to the broker: real sockets, or a simulated broker in virtual time.
package protocol FleetTransport: AnyObject {
    var now: Instant { get }
    var time: Timestamp { get }
    /// Starts a connection.
    /// - Parameter node: number of the broker's node, modulo the number of nodes.
    func connect(_ number: Int, _ hello: BrokerHello, toNode node: Int) throws(BrokerFault) -> any FleetLink
    /// Waits until connections have events, until `end` at the latest.
    /// - Returns: numbers of the devices whose connections have events.
    func wait(until end: Instant) -> [Int]
    /// Waits for events of this connection from now on.
    /// - Returns: false if the connection has ended.
    func follow(_ link: any FleetLink, of number: Int) -> Bool
    /// Ends the wait for a device's connection. Call this before you close the connection.
    func forget(_ number: Int)
}

package protocol FleetLink: AnyObject {
    var events: [Bridge.Event] { get }
    /// Longest time between two calls of ``proceed(isReady:)``; nil for no limit.
    var patience: Duration? { get }
    func drainEvents() -> [Bridge.Event]
    func proceed(isReady: Bool)
    func close(isGoodbye: Bool)
    func subscribe(_ subscriptions: [Subscription])
    func publish(_ number: Int, _ message: OutgoingMessage)
}

extension BrokerConnection: FleetLink {}

/// Connections to a real broker.
package final class BrokerTransport: FleetTransport {
    private let poller: Poller
    private let brokers: [BrokerAddress]
    private let authorities: String?
    /// Limit of simultaneous connection attempts for all devices. A single device has a limit of three.
    private let limit = AttemptLimit(500)
    private var interests: [Int: Poller.Interest] = [:]

    /// - Parameters:
    ///   - devices: number of devices, for the limit of open files.
    ///   - brokers: addresses of one broker's nodes, at least one.
    ///   - authorities: path of the certificate authorities (PEM); nil without TLS.
    /// - Throws: `SystemError`, for example if the limit of open files is too low.
    package init(devices: Int, brokers: [BrokerAddress], authorities: String?) throws(SystemError) {
        (self.brokers, self.authorities) = (brokers, authorities)
        poller = try Poller()
        // Each device needs a socket, libmosquitto's pair of sockets, and the event of an attempt.
        let files = rlim_t(devices * 4 + 500)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_max = max(limit.rlim_max, files)
        limit.rlim_cur = limit.rlim_max
        guard limit.rlim_cur >= files, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw SystemError(
                "have \(files) open files: raise the limit (ulimit -n), or use more processes", errno: errno)
        }
    }

    package var now: Instant { .now }
    package var time: Timestamp { .now }

    package func connect(
        _ number: Int, _ hello: BrokerHello, toNode node: Int
    ) throws(BrokerFault) -> any FleetLink {
        try BrokerConnection(
            hello, to: brokers[node % brokers.count], user: nil, BrokerSecrets(authorities: authorities), limit: limit)
    }

    package func wait(until end: Instant) -> [Int] { poller.wait(Int((end - .now).milliseconds)) }

    package func follow(_ link: any FleetLink, of number: Int) -> Bool {
        guard let wait = (link as? BrokerConnection)?.wait, wait.descriptor >= 0 else {
            // The connection has ended and closes its descriptors. Forget its interest: the event of an attempt would
            // stay readable.
            interests[number] = nil
            return false
        }
        let old = interests[number]
        let new = Poller.Interest(descriptor: wait.descriptor, isForWriting: wait.readiness == .writable)
        guard new != old else { return true }
        if let old, old.descriptor != new.descriptor { poller.remove(old) }
        poller.set(new, number: number, isNew: old?.descriptor != new.descriptor)
        interests[number] = new
        return true
    }

    package func forget(_ number: Int) {
        if let interest = interests.removeValue(forKey: number) { poller.remove(interest) }
    }
}
