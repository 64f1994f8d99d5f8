import AgentModel
import CMosquitto
import Glibc
import Linux
import MQTTBridge
import Synchronization

/// One connection to the broker through libmosquitto. Reports in ``events`` and makes no decisions.
///
/// libmosquitto blocks while it resolves the name and connects, so a separate thread does that. An abandoned thread
/// frees its handle when it finishes.
package final class BrokerConnection {
    package private(set) var events: [Bridge.Event] = []
    private let attempt: BrokerAttempt
    private let keepAlive: Duration
    private var stage = Stage.connecting
    /// Numbers of the messages in flight, by libmosquitto's message ID.
    private var numbers: [Int32: Int] = [:]

    private static let library = mosquitto_lib_init()

    private enum Stage { case connecting, open, ended }
    private var isLetGo = false

    private var handle: OpaquePointer { attempt.handle }

    /// - Throws: ``BrokerFault`` if libmosquitto rejects an option, a certificate or a key.
    package init(
        _ hello: BrokerHello, to address: BrokerAddress, user: String?, _ secrets: BrokerSecrets,
        limit: AttemptLimit = .ofOneDevice
    ) throws(BrokerFault) {
        _ = Self.library
        guard let handle = mosquitto_new(hello.clientID, false, nil) else {
            throw BrokerFault(problem: "libmosquitto cannot create a client: error \(errno)")
        }
        attempt = BrokerAttempt(handle: handle, limit: limit)
        keepAlive = hello.keepAlive
        try configure(hello, address, user, secrets)
        let keepAlive = Int32(clamping: hello.keepAlive.components.seconds)
        if !attempt.start(address, keepAlive: keepAlive, try Self.properties(of: hello)) {
            end("earlier attempts are still resolving its name")
        }
    }

    deinit { letGo() }

    private func letGo() {
        guard !isLetGo else { return }
        isLetGo = true
        attempt.abandon()
    }

    // MARK: Waiting

    /// Descriptor and readiness to wait for; nil once the connection has ended.
    ///
    /// Does not read while packets wait for writing: libmosquitto queues acknowledgements without a limit, so a broker
    /// that sends and never reads would fill the memory.
    package var wait: (descriptor: Int32, readiness: Readiness)? {
        switch stage {
        case .connecting: (attempt.ended.descriptor, .readable)
        case .open: (mosquitto_socket(handle), mosquitto_want_write(handle) ? .writable : .readable)
        case .ended: nil
        }
    }

    /// Longest time between two calls of ``proceed(isReady:)``; nil unless connected.
    package var patience: Duration? { stage == .open ? keepAlive / 4 : nil }

    package func drainEvents() -> [Bridge.Event] {
        defer { events = [] }
        return events
    }

    /// Processes input, output and libmosquitto's timers.
    /// - Parameter isReady: true if the descriptor of ``wait`` is ready.
    package func proceed(isReady: Bool) {
        switch stage {
        case .connecting:
            guard let outcome = attempt.outcome else { return }
            guard outcome.code == MOSQ_ERR_SUCCESS.rawValue else {
                return end(Self.text(outcome.code, outcome.error))
            }
            stage = .open
            var milliseconds: UInt32 = 30_000
            // Detect a dead path: end the connection after 30 s without an acknowledgement.
            _ = setsockopt(
                mosquitto_socket(handle), Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds,
                socklen_t(MemoryLayout<UInt32>.size))
            // Limit the send buffer: the kernel would hold megabytes for a broker that does not read.
            var room: Int32 = 65_536
            _ = setsockopt(
                mosquitto_socket(handle), SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
            listen()
            check(mosquitto_loop_misc(handle))
        case .open:
            if isReady {
                check(mosquitto_want_write(handle) ? mosquitto_loop_write(handle, 1) : mosquitto_loop_read(handle, 1))
            }
            if attempt.hasExactlyOnce { end("it sent a message with QoS 2, which is not supported") }
            if stage == .open { check(mosquitto_loop_misc(handle)) }
        case .ended: break
        }
    }

    private func check(_ code: Int32) {
        guard stage == .open else { return }
        if code != MOSQ_ERR_SUCCESS.rawValue { return end(Self.text(code, errno)) }
        if mosquitto_socket(handle) < 0 { end("the broker has closed the connection") }
    }

    private func end(_ text: String, _ kind: BrokerFailure.Kind = .unreachable) {
        guard stage != .ended else { return }
        stage = .ended
        let detail = attempt.lastError.map { ": \($0)" } ?? ""
        events.append(.brokerFailed(BrokerFailure(kind, "no connection to the broker: \(text)\(detail)")))
    }

    /// Closes the connection. With `isGoodbye`, first sends DISCONNECT, so that the broker discards the will.
    /// This takes at most 1 s.
    package func close(isGoodbye: Bool) {
        if isGoodbye, stage == .open {
            mosquitto_disconnect_v5(handle, 0, nil)
            var left = 20
            while mosquitto_socket(handle) >= 0, mosquitto_want_write(handle), left > 0 {
                _ = Readiness.writable.wait(on: mosquitto_socket(handle), within: .milliseconds(50))
                mosquitto_loop_write(handle, 1)
                left -= 1
            }
        }
        stage = .ended
        letGo()
    }

    // MARK: Sending

    package func subscribe(_ subscriptions: [Subscription]) {
        for subscription in subscriptions where stage == .open {
            let options =
                (subscription.keepsMark ? MQTT_SUB_OPT_RETAIN_AS_PUBLISHED.rawValue : 0)
                | (subscription.wantsRetained
                    ? MQTT_SUB_OPT_SEND_RETAIN_ALWAYS.rawValue : MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue)
            check(mosquitto_subscribe_v5(handle, nil, subscription.topic, 1, Int32(options), nil))
        }
    }

    package func publish(_ number: Int, _ message: OutgoingMessage) {
        guard stage == .open else { return }
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if !message.payload.isEmpty, !message.isBinary, !message.topic.hasSuffix("/availability") {
            mosquitto_property_add_byte(&properties, Int32(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.rawValue), 1)
            mosquitto_property_add_string(&properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), "application/json")
        }
        if let expiry = message.expiry {
            let seconds = UInt32(clamping: max(1, expiry.components.seconds))
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), seconds)
        }
        if let topic = message.responseTopic {
            mosquitto_property_add_string(&properties, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), topic)
        }
        if let correlation = message.correlation {
            mosquitto_property_add_binary(
                &properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), correlation,
                UInt16(clamping: correlation.count))
        }
        var identifier: Int32 = 0
        let code = mosquitto_publish_v5(
            handle, &identifier, message.topic, Int32(clamping: message.payload.count), message.payload,
            message.isAcknowledged ? 1 : 0, message.isRetained, properties)
        switch mosq_err_t(code) {
        case MOSQ_ERR_SUCCESS: if message.isAcknowledged { numbers[identifier] = number }
        case MOSQ_ERR_NO_CONN, MOSQ_ERR_CONN_LOST, MOSQ_ERR_ERRNO, MOSQ_ERR_TLS: check(code)
        default:
            // Any other error concerns only this message, which would fail again: do not repeat it.
            events.append(.publishRefused(number, "\(message.topic.printable): \(Self.text(code, errno))"))
        }
    }

    // MARK: Callbacks

    fileprivate func connected(_ reason: Int32, _ flags: Int32, _ properties: OpaquePointer?) {
        guard reason == 0 else {
            let text = Self.reason(reason)
            switch reason {
            // Wrong version, client ID, name or password; not authorised; banned; bad method; server moved.
            case 1, 132, 133, 134, 135, 138, 140, 156, 157: end("it refuses this device: \(text)", .refused)
            default: end("it rejects the connection: \(text)")
            }
            return
        }
        var session = BrokerSession(isPresent: flags & 1 == 1, localAddress: localAddress)
        var (packet, maximum, byte): (UInt32, UInt16, UInt8) = (0, 0, 0)
        if mosquitto_property_read_int32(properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &packet, false)
            != nil
        {
            session.maximumPacket = Int(packet)
        }
        if mosquitto_property_read_int16(properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &maximum, false) != nil
        {
            session.receiveMaximum = Int(maximum)
        }
        if mosquitto_property_read_byte(properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &byte, false) != nil {
            session.keepsMessages = byte != 0
        }
        if mosquitto_property_read_byte(properties, Int32(MQTT_PROP_MAXIMUM_QOS.rawValue), &byte, false) != nil {
            session.acknowledges = byte != 0
        }
        events.append(.brokerAccepted(session))
    }

    fileprivate func disconnected(_ reason: Int32) {
        // Codes from 128 come from the broker. Lower codes come from libmosquitto, whose functions return them as well.
        guard reason >= 128 else { return }
        switch reason {
        case 142: end("another client has the same client ID", .takenOver)
        case 135, 138, 156, 157: end("it disconnected this device: \(Self.reason(reason))", .refused)
        default: end("it closed the connection: \(Self.reason(reason))")
        }
    }

    fileprivate func acknowledged(_ identifier: Int32, _ reason: Int32) {
        guard let number = numbers.removeValue(forKey: identifier) else { return }
        events.append(reason < 128 ? .acknowledged(number) : .publishRefused(number, Self.reason(reason)))
    }

    fileprivate func subscribed(_ grants: [Int32]) {
        if let refusal = grants.first(where: { $0 >= 128 }) {
            events.append(.subscriptionRefused(Self.reason(refusal)))
        }
    }

    fileprivate func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
        let count = Int(message.payloadlen)
        guard count <= BridgeLimits.packet else { return end("it sent a packet above the size limit: \(count) bytes") }
        guard let topic = message.topic else { return }
        var alias: UInt16 = 0
        // This client does not allow aliases, because libmosquitto would store the topic of each one.
        guard
            mosquitto_property_read_int16(properties, Int32(MQTT_PROP_TOPIC_ALIAS.rawValue), &alias, false) == nil
        else { return end("it uses a topic alias, which is not supported") }
        var incoming = IncomingMessage(
            topic: String(cString: topic),
            payload: message.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) } ?? [],
            isRetained: message.retain)
        var text: UnsafeMutablePointer<CChar>?
        if mosquitto_property_read_string(properties, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), &text, false) != nil,
            let text
        {
            incoming.responseTopic = String(cString: text)
            free(text)
        }
        var data: UnsafeMutableRawPointer?
        var length: UInt16 = 0
        if mosquitto_property_read_binary(
            properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), &data, &length, false) != nil, let data
        {
            incoming.correlation = Array(UnsafeRawBufferPointer(start: data, count: Int(length)))
            free(data)
        }
        var seconds: UInt32 = 0
        if mosquitto_property_read_int32(
            properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), &seconds, false) != nil
        {
            incoming.expiry = .seconds(Int64(seconds))
        }
        events.append(.message(incoming))
    }

    private var localAddress: String? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var name = [CChar](repeating: 0, count: 64)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                getsockname(mosquitto_socket(handle), pointer, &length) == 0
                    && getnameinfo(pointer, length, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
            }
        }
        guard result else { return nil }
        // Drop the interface name after `%`: the agent's addresses have none.
        return String(
            decoding: name.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: "%")) }.map(UInt8.init(bitPattern:)),
            as: UTF8.self)
    }

    private static func text(_ code: Int32, _ error: Int32) -> String {
        switch mosq_err_t(code) {
        case MOSQ_ERR_ERRNO: String(cString: strerror(error))
        case MOSQ_ERR_EAI: "its name cannot be resolved"
        default: String(cString: mosquitto_strerror(code)).trimmingFullStop
        }
    }

    private static func reason(_ code: Int32) -> String {
        (code == 1 ? "it does not speak MQTT 5" : String(cString: mosquitto_reason_string(code))).trimmingFullStop
    }
}

extension String {
    fileprivate var trimmingFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}

package struct BrokerFault: Error, CustomStringConvertible {
    package let problem: String
    package var description: String { problem }
}

// MARK: Before the connection

extension BrokerConnection {
    private func configure(
        _ hello: BrokerHello, _ address: BrokerAddress, _ user: String?, _ secrets: BrokerSecrets
    ) throws(BrokerFault) {
        func require(_ code: Int32, _ attempt: String) throws(BrokerFault) {
            guard code == MOSQ_ERR_SUCCESS.rawValue else {
                throw BrokerFault(problem: "cannot \(attempt): \(String(cString: mosquitto_strerror(code)))")
            }
        }
        try require(mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5), "select MQTT 5")
        try require(
            mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(clamping: hello.receiveMaximum)),
            "limit the messages in flight")
        try require(mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1), "set TCP_NODELAY")
        if address.isEncrypted {
            if let shared = secrets.shared {
                let code = shared.key.withBytes { bytes in
                    mosquitto_tls_psk_set(handle, String(decoding: bytes, as: UTF8.self), shared.identity, nil)
                }
                try require(code, "use the shared key")
            } else {
                try require(
                    mosquitto_tls_set(
                        handle, secrets.authorities, secrets.authorities == nil ? "/etc/ssl/certs" : nil,
                        secrets.certificate, secrets.key, nil), "use the certificates")
                try require(mosquitto_tls_opts_set(handle, 1, nil, nil), "check the broker's certificate")
            }
        }
        let password = secrets.password?.withBytes { String(decoding: $0, as: UTF8.self) }
        if user != nil || password != nil {
            try require(mosquitto_username_pw_set(handle, user, password), "set the user name and the password")
        }
        guard let message = hello.will else { return }
        var will: OpaquePointer?
        if hello.willDelay > .zero {
            mosquitto_property_add_int32(
                &will, Int32(MQTT_PROP_WILL_DELAY_INTERVAL.rawValue),
                UInt32(clamping: hello.willDelay.components.seconds))
        }
        let code = mosquitto_will_set_v5(
            handle, message.topic, Int32(clamping: message.payload.count), message.payload, 1, true, will)
        if code != MOSQ_ERR_SUCCESS.rawValue { mosquitto_property_free_all(&will) }
        try require(code, "set the will")
    }

    private static func properties(of hello: BrokerHello) throws(BrokerFault) -> OpaquePointer? {
        var properties: OpaquePointer?
        guard
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue),
                UInt32(clamping: hello.sessionExpiry.components.seconds)) == MOSQ_ERR_SUCCESS.rawValue,
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), UInt32(clamping: hello.maximumPacket))
                == MOSQ_ERR_SUCCESS.rawValue
        else { throw BrokerFault(problem: "out of memory") }
        return properties
    }

    /// Installs the callbacks. Call this after the connecting thread has finished with the handle.
    private func listen() {
        attempt.owner = self
        mosquitto_connect_v5_callback_set(handle) { _, context, reason, flags, properties in
            BrokerConnection.of(context)?.connected(reason, flags, properties)
        }
        mosquitto_disconnect_v5_callback_set(handle) { _, context, reason, _ in
            BrokerConnection.of(context)?.disconnected(reason)
        }
        mosquitto_publish_v5_callback_set(handle) { _, context, identifier, reason, _ in
            BrokerConnection.of(context)?.acknowledged(identifier, reason)
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, context, _, count, grants, _ in
            let grants = UnsafeBufferPointer(start: grants, count: Int(count))
            BrokerConnection.of(context)?.subscribed(Array(grants))
        }
        mosquitto_message_v5_callback_set(handle) { _, context, message, properties in
            guard let message = message?.pointee else { return }
            BrokerConnection.of(context)?.received(message, properties)
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> BrokerConnection? {
        BrokerAttempt.of(context)?.owner
    }
}

/// Limits the simultaneous connection attempts, each of which has a thread. A thread that waits for a name server may
/// run for half a minute after its attempt was abandoned.
package final class AttemptLimit: Sendable {
    private let most: Int
    private let running = Mutex(0)

    package static let ofOneDevice = AttemptLimit(3)

    package init(_ most: Int) { self.most = most }

    /// - Returns: false if the limit is reached.
    fileprivate func begin() -> Bool {
        running.withLock { running in
            guard running < most else { return false }
            running += 1
            return true
        }
    }

    fileprivate func end() { running.withLock { $0 -= 1 } }
}

/// The blocking part of a connection: name lookup, TCP and the start of TLS.
private final class BrokerAttempt: @unchecked Sendable {  // First the thread uses the handle, then the owner does.
    let handle: OpaquePointer
    let ended = Wakeup()
    /// Receives the callbacks; nil until the thread has finished, and after the owner is gone.
    weak var owner: BrokerConnection?
    private let state = Mutex(State.idle)
    private let error = Mutex<String?>(nil)
    private let exactlyOnce = Mutex(false)
    private let limit: AttemptLimit

    private enum State {
        case idle
        case running
        case ended(code: Int32, error: Int32)
        /// The owner has given up the attempt, so the thread destroys the handle.
        case abandoned
    }

    init(handle: OpaquePointer, limit: AttemptLimit) {
        (self.handle, self.limit) = (handle, limit)
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_log_callback_set(handle) { _, context, level, text in
            guard let text else { return }
            if level == Int32(MOSQ_LOG_ERR) {
                BrokerAttempt.of(context)?.recordError(String(cString: text))
            } else if level == Int32(MOSQ_LOG_DEBUG), BrokerAttempt.mentionsExactlyOnce(text) {
                BrokerAttempt.of(context)?.exactlyOnce.withLock { $0 = true }
            }
        }
    }

    /// Last error in libmosquitto's log, at most 200 characters.
    var lastError: String? { error.withLock { $0 } }

    /// True if the broker has sent a QoS 2 message. libmosquitto holds up to 16 such messages, of any size, until the
    /// broker releases them. Only libmosquitto's log reports them.
    var hasExactlyOnce: Bool { exactlyOnce.withLock { $0 } }

    /// - Parameter text: line of libmosquitto's log, such as `Client a received PUBLISH (d0, q2, r0, m1, 'b', ...`.
    private static func mentionsExactlyOnce(_ text: UnsafePointer<CChar>) -> Bool {
        let mark = "received PUBLISH (d"
        guard let found = strstr(text, mark) else { return false }
        let flags = found + mark.utf8.count
        return flags[0] != 0 && strncmp(flags + 1, ", q2", 4) == 0
    }

    private func recordError(_ text: String) { error.withLock { $0 = String(text.prefix(200)).printable } }

    static func of(_ context: UnsafeMutableRawPointer?) -> BrokerAttempt? {
        context.map { Unmanaged<BrokerAttempt>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Parameter properties: freed by this call or by the thread.
    /// - Returns: false if too many attempts are running.
    func start(_ address: BrokerAddress, keepAlive: Int32, _ properties: OpaquePointer?) -> Bool {
        let given = Given(properties: properties)
        guard limit.begin() else {
            var properties = properties
            mosquitto_property_free_all(&properties)
            return false
        }
        state.withLock { $0 = .running }
        let thread = QuietThread.start("altnet.connect") {
            var properties = given.properties
            let code = mosquitto_connect_bind_v5(
                self.handle, address.host, Int32(clamping: address.port), keepAlive, nil, properties)
            let error = errno
            mosquitto_property_free_all(&properties)
            self.limit.end()
            let isAbandoned = self.state.withLock { state in
                if case .abandoned = state { return true }
                state = .ended(code: code, error: error)
                return false
            }
            if isAbandoned { mosquitto_destroy(self.handle) } else { self.ended.ring() }
        }
        pthread_detach(thread)
        return true
    }

    private struct Given: @unchecked Sendable {  // The thread takes it over; nothing else uses it.
        let properties: OpaquePointer?
    }

    /// Result of the attempt; nil until the thread has finished.
    var outcome: (code: Int32, error: Int32)? {
        state.withLock { if case .ended(let code, let error) = $0 { (code, error) } else { nil } }
    }

    /// Destroys the handle now, or when the thread finishes. Call this once.
    func abandon() {
        let isRunning = state.withLock { state in
            defer { state = .abandoned }
            if case .running = state { return true }
            return false
        }
        if !isRunning { mosquitto_destroy(handle) }
    }
}
