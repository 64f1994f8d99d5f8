import AgentModel

/// Settings of the authorisation that Improv may need.
public struct ImprovSettings: Sendable, Equatable {
    /// Duration and start of the authorisation; nil if none is needed, as over a cable.
    public var authorization: Authorization?

    public struct Authorization: Sendable, Equatable {
        /// Time that the authorisation lasts after the button is pressed, or after the start.
        public var window: Duration
        /// Whether the start authorises a device without a network.
        public var isGivenAtStart: Bool

        public init(window: Duration, isGivenAtStart: Bool) {
            (self.window, self.isGivenAtStart) = (window, isGivenAtStart)
        }
    }

    public init(authorization: Authorization?) { self.authorization = authorization }
}

public struct ImprovDevice: Sendable, Equatable {
    /// Whether the device has a stored network.
    public var isProvisioned: Bool
    public var pages: [String]
    public var name: String
    public var hostName: String
    /// Firmware, firmware version, hardware and device name; optionally the system and its version.
    public var info: [String]
}

public struct ImprovNetwork: Sendable, Hashable {
    public let ssid: SSID
    /// Signal in dBm.
    public let signal: Int
    public let security: Security
}

/// The protocol logic for Improv's clients. This value uses neither a clock nor I/O: it takes events and returns
/// effects.
public struct ImprovMachine: Sendable {
    public enum Event: Sendable {
        /// State of the device; nil while the agent does not answer.
        case device(ImprovDevice?)
        /// The button was pressed, or the owner sent the command.
        case authorized
        case command(ImprovCommand)
        /// A client has sent an invalid packet or command.
        case refused(ImprovError)
        case joined(Outcome)
        /// Networks, strongest first; nil if the scan failed.
        case scanned([ImprovNetwork]?)
        case tick
    }

    public enum Outcome: Sendable, Equatable {
        case connected(pages: [String])
        case failed(String)
    }

    public enum Effect: Sendable, Equatable {
        case state(ImprovState)
        case error(ImprovError)
        case result(ImprovResult)
        case join(SSID, Secret?)
        case scan
        case identify
        /// Starts or stops advertising.
        case advertise(Bool)
        case log(String)
    }

    /// Number of failed attempts in one window after which a new authorisation is needed.
    public static let attempts = 10
    /// Time for which a device stays discoverable after it has joined a network, because the client may still ask.
    public static let afterwards = Duration.seconds(60)
    /// Maximum number of networks in the result of a scan.
    public static let listed = 30

    private let settings: ImprovSettings
    private let medium: ImprovMedium
    private let started: Instant
    private var phase = Phase.closed
    /// Last known state of the device, kept while the agent does not answer.
    private var device: ImprovDevice?
    private var isAgentAnswering = false
    private var isScanning = false
    /// Time until which a provisioned device is discoverable.
    private var lingers: Instant?
    private var lastReported: (state: ImprovState?, error: ImprovError?, isAdvertised: Bool) = (nil, nil, false)

    private enum Phase: Equatable {
        case closed
        case open(Window)
        /// A join is in progress. The window in which it began opens again if the join fails.
        case joining(Window?)
    }

    private struct Window: Equatable {
        var end: Instant
        var failures = 0
        /// True if the start opened the window. Such a window closes when the device gets a network in another way.
        var isOfStart = false
    }

    public init(_ settings: ImprovSettings, medium: ImprovMedium, at now: Instant) {
        (self.settings, self.medium, started) = (settings, medium, now)
    }

    public var state: ImprovState {
        switch phase {
        case .joining: .provisioning
        case .open: .authorized
        case .closed where isProvisioned: .provisioned
        case .closed: settings.authorization == nil ? .authorized : .authorizationRequired
        }
    }

    public var capabilities: ImprovCapabilities { [.identify, .deviceInfo, .scan] }

    public var deadline: Instant? {
        var deadline: Instant? = lingers
        if case .open(let window) = phase { deadline = min(deadline ?? window.end, window.end) }
        return deadline
    }

    private var isProvisioned: Bool { device?.isProvisioned ?? false }
    private var mayJoin: Bool {
        switch phase {
        case .open: true
        case .closed: settings.authorization == nil
        case .joining: false
        }
    }

    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        if case .open(let window) = phase, window.end <= now {
            phase = .closed
            effects.append(.log("the time to accept a network is over: press the button to start again"))
        }
        if let lingers, lingers <= now { self.lingers = nil }
        switch event {
        case .device(let device): learn(device, now)
        case .authorized: authorize(now, &effects)
        case .command(let command): perform(command, &effects)
        case .refused(let error): lastReported.error = error; effects.append(.error(error))
        case .joined(let outcome): joined(outcome, now, &effects)
        case .scanned(let networks): scanned(networks, &effects)
        case .tick: break
        }
        return effects + news()
    }

    private mutating func news() -> [Effect] {
        var effects: [Effect] = []
        if state != lastReported.state {
            lastReported.state = state
            effects.append(.state(state))
        }
        // Does not advertise while the agent does not answer.
        let isAdvertised = isAgentAnswering && (state != .provisioned || lingers != nil)
        if isAdvertised != lastReported.isAdvertised {
            lastReported.isAdvertised = isAdvertised
            effects.append(.advertise(isAdvertised))
        }
        return effects
    }

    // MARK: Authorisation

    private mutating func learn(_ device: ImprovDevice?, _ now: Instant) {
        let (wasKnown, wasProvisioned) = (self.device != nil, isProvisioned)
        isAgentAnswering = device != nil
        // The device, window and phase stay valid while the agent restarts.
        guard let device else { return }
        self.device = device
        if device.isProvisioned {
            if case .open(let window) = phase, window.isOfStart { phase = .closed }
            if wasKnown, !wasProvisioned { lingers = now + Self.afterwards }
        } else if let authorization = settings.authorization, authorization.isGivenAtStart, phase == .closed,
            started + authorization.window > now
        {
            phase = .open(Window(end: started + authorization.window, isOfStart: true))
        }
    }

    private mutating func authorize(_ now: Instant, _ effects: inout [Effect]) {
        guard let authorization = settings.authorization else { return }
        let window = Window(end: now + authorization.window)
        if case .joining = phase { phase = .joining(window) } else { phase = .open(window) }
        effects.append(.log("accepting a network for \(authorization.window.components.seconds) s"))
    }

    // MARK: Commands

    private mutating func perform(_ command: ImprovCommand, _ effects: inout [Effect]) {
        switch command {
        case .join(let ssid, let password): join(ssid, password, &effects)
        case .identify:
            clearError(&effects)
            effects.append(.identify)
        case .currentState:
            clearError(&effects)
            lastReported.state = state
            effects.append(.state(state))
            if state == .provisioned {
                effects.append(.result(ImprovResult(.identifyOrCurrentState, texts: device?.pages ?? [])))
            }
        case .deviceInfo: answer(.deviceInfo, device?.info, &effects)
        case .scan:
            guard mayJoin else { return refuse(.notAuthorized, &effects) }
            clearError(&effects)
            guard !isScanning else { return }
            isScanning = true
            effects.append(.scan)
        case .hostName:
            guard mayJoin else { return refuse(.notAuthorized, &effects) }
            answer(.hostName, device.map { [$0.hostName] }, &effects)
        case .deviceName:
            guard mayJoin else { return refuse(.notAuthorized, &effects) }
            answer(.deviceName, device.map { [$0.name] }, &effects)
        }
    }

    /// - Parameter texts: texts of the answer; nil if the agent has not answered yet.
    private mutating func answer(_ number: ImprovCommand.Number, _ texts: [String]?, _ effects: inout [Effect]) {
        guard isAgentAnswering, let texts else { return refuse(.unknown, &effects) }
        clearError(&effects)
        effects.append(.result(ImprovResult(number, texts: texts)))
    }

    private mutating func join(_ ssid: SSID, _ password: Secret?, _ effects: inout [Effect]) {
        // Sends no error, which would reach the first client. That client still waits for its outcome.
        if case .joining = phase { return effects.append(.log("\(ssid): ignored, another attempt is in progress")) }
        guard mayJoin else {
            effects.append(.log("\(ssid): refused, press the button first"))
            return refuse(.notAuthorized, &effects)
        }
        guard isAgentAnswering else {
            effects.append(.log("\(ssid): refused, the agent does not answer"))
            return refuse(.unableToConnect, &effects)
        }
        clearError(&effects)
        if case .open(let window) = phase { phase = .joining(window) } else { phase = .joining(nil) }
        effects.append(.join(ssid, password))
    }

    private mutating func joined(_ outcome: Outcome, _ now: Instant, _ effects: inout [Effect]) {
        guard case .joining(let window) = phase else { return }
        switch outcome {
        case .connected(let pages):
            phase = .closed
            device?.isProvisioned = true
            device?.pages = pages
            lingers = now + Self.afterwards
            // Sends the state first, because some clients disconnect upon the result.
            lastReported.state = state
            effects += [.state(state), .result(ImprovResult(.join, texts: pages))]
        case .failed(let reason):
            phase = after(window, now, &effects)
            effects.append(.log("not joined: \(reason)"))
            lastReported.error = .unableToConnect
            effects.append(.error(.unableToConnect))
        }
    }

    /// Restarts the window after a failed attempt, as the specification requires.
    private func after(_ window: Window?, _ now: Instant, _ effects: inout [Effect]) -> Phase {
        guard var window, let authorization = settings.authorization else { return .closed }
        window.failures += 1
        guard window.failures < Self.attempts else {
            effects.append(.log("\(Self.attempts) attempts failed: press the button again"))
            return .closed
        }
        window.end = now + authorization.window
        return .open(window)
    }

    private mutating func scanned(_ networks: [ImprovNetwork]?, _ effects: inout [Effect]) {
        guard isScanning else { return }
        isScanning = false
        guard let networks else { return refuse(.unknown, &effects) }
        let lines = lines(networks)
        switch medium {
        // One result has three texts for each network. If they do not fit, the weakest networks are dropped.
        case .bluetooth:
            var texts: [String] = []
            for line in lines
            where (texts + line).reduce(0, { $0 + $1.utf8.count + 1 }) <= ImprovResult.longestData {
                texts += line
            }
            effects.append(.result(ImprovResult(.scan, texts: texts)))
        case .serial:
            effects += lines.map { .result(ImprovResult(.scan, texts: $0)) } + [.result(ImprovResult(.scan))]
        }
    }

    /// Texts of each network: name, signal in dBm and security. Names that repeat or are not UTF-8 are dropped.
    private func lines(_ networks: [ImprovNetwork]) -> [[String]] {
        var names: Set<SSID> = []
        return networks.filter { names.insert($0.ssid).inserted }.compactMap { network in
            network.ssid.text.map { [$0, "\(network.signal)", network.security.improvName(over: medium)] }
        }.prefix(Self.listed).map(\.self)
    }

    // MARK: Errors

    private mutating func refuse(_ error: ImprovError, _ effects: inout [Effect]) {
        lastReported.error = error
        effects.append(.error(error))
    }

    private mutating func clearError(_ effects: inout [Effect]) {
        lastReported.error = ImprovError.none
        effects.append(.error(.none))
    }

    public var error: ImprovError { lastReported.error ?? .none }
}

extension Security {
    /// Third text of a network in a scan's result. Over BLE, it is the authentication. Over serial, it is `YES` if a
    /// password is needed, or else `NO` (Improv 2.4, "Request scanned Wi-Fi networks").
    func improvName(over medium: ImprovMedium) -> String {
        switch (self, medium) {
        case (.open, _), (.owe, _): "NO"
        case (_, .serial): "YES"
        case (.wpa2, _): "WPA2"
        case (.wpa3, _): "WPA3"
        case (.wpa2wpa3, _): "WPA2/WPA3"
        case (.enterprise, _): "WPA2 EAP"
        case (.wep, _): "WEP"
        case (.legacy, _), (.unknown, _): "WPA"
        }
    }
}
