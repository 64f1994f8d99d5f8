import AgentModel

@testable import Failover

/// Values of every kind, with what is hard to write down among them.
enum Fixture {
    static let accessPoint = BSSID(bytes: [2, 0, 0, 0, 1, 0])!
    static let other = BSSID(bytes: [2, 0, 0, 0, 2, 0xff])!
    static let home = ssid("Home Net/5,G%-".utf8)
    static let bytes = ssid([0xff, 0x00, 0x0a, 0x2d])
    static let dash = ssid("-".utf8)

    private static func ssid(_ bytes: some Sequence<UInt8>) -> SSID {
        guard let ssid = try? SSID(bytes: bytes) else { preconditionFailure("no SSID") }
        return ssid
    }

    static let observations = [
        BSS(
            bssid: accessPoint, ssid: home, frequency: Frequency(megahertz: 2412), signal: -52,
            lastSeen: Instant(milliseconds: 12_345), security: .wpa2wpa3),
        BSS(
            bssid: other, ssid: nil, frequency: Frequency(megahertz: 5180), signal: -91,
            lastSeen: Instant(milliseconds: 0), security: .open),
    ]

    static let networks = [
        KnownNetwork(id: NetworkID(1), ssid: home, usesPassphrase: true, isPreferred: true),
        KnownNetwork(id: NetworkID(2), ssid: bytes, usesPassphrase: false, isHidden: true),
        KnownNetwork(id: NetworkID(3), ssid: dash, usesPassphrase: true, isHidden: true),
    ]

    private static var otherSettings: PolicySettings {
        var settings = PolicySettings()
        settings.five.weak = -71
        settings.returnsToPreferred = false
        settings.validation = PolicySettings.Validation()
        return settings
    }

    static let events: [PolicyEvent] =
        [
            .settings(PolicySettings()), .settings(otherSettings), .networks(networks), .networks([]),
            .remembered(NetworkID(2), Frequency(megahertz: 5955)),
            .verified(NetworkID(2), accessPoint),
            .interface(isUp: true), .interface(isUp: false), .supplicant(isAvailable: true),
            .supplicant(isAvailable: false), .spare(isReady: true), .spare(isReady: false), .otherUplink(nil),
            .linkFound(NetworkID(1), AccessPoint(bssid: accessPoint, frequency: nil)),
            .interrupted(id: 3, target: NetworkID(2), cameFrom: NetworkID(1)),
            .interrupted(id: 3, target: NetworkID(2), cameFrom: nil),
            .interrupted(id: 3, target: nil, cameFrom: NetworkID(1)),
            .scanned(id: nil, observations), .scanned(id: UInt64(Int64.max), []), .scanFailed(id: 7),
            .scanRefused(id: 8, joinsUnseen: true),
            .associated(epoch: 4, AccessPoint(bssid: other, frequency: Frequency(megahertz: 2462))),
            .linkLost(.ownDoing), .linkLost(.silence), .linkLost(.other), .successorLost(epoch: 5),
            .address(isReady: true), .address(isReady: false), .successorAddress(epoch: 5, isReady: true),
            .successorAddress(epoch: 5, isReady: false), .signal(-71), .switchTo(NetworkID(2), id: 9),
            .switchTo(NetworkID(2), id: 9, confirmWithin: .milliseconds(2500)),
            .switchTo(NetworkID(2), id: 9, joinOnce: true), .confirmed(id: 9), .resumed, .tick,
            .stop,
        ] + JoinFailure.allCases.map { .joinFailed(epoch: 5, $0) } + Uplink.allCases.map { .otherUplink($0) }
        + ProbeResult.allCases.map { .probed(epoch: 6, $0) }
        + [.doubted(epoch: 6), .signingIn(epoch: 6, until: Instant(milliseconds: 90_000))]
        + [.postponed(epoch: 6, until: Instant(milliseconds: 90_000))]

    /// A run as an agent records it: found at home, home is lost, the other network is joined.
    static func run(_ settings: PolicySettings = PolicySettings()) -> (text: [UInt8], events: [(Instant, PolicyEvent)])
    {
        var policy = FailoverPolicy(settings: settings)
        var text = RecordLine.run(agent: "1.2.3", settings: settings).text
        var events: [(Instant, PolicyEvent)] = []
        func hear(_ event: PolicyEvent, at milliseconds: Int64) -> [PolicyAction] {
            let now = Instant(milliseconds: milliseconds)
            let actions = policy.handle(event, at: now)
            text += RecordLine.step(at: now, event: event, actions: actions).text
            events.append((now, event))
            return actions
        }
        func observations(_ signal: Int, at milliseconds: Int64) -> [BSS] {
            [
                BSS(
                    bssid: other, ssid: dash, frequency: Frequency(megahertz: 2437), signal: signal,
                    lastSeen: Instant(milliseconds: milliseconds), security: .wpa2)
            ]
        }
        _ = hear(.networks(networks), at: 1000)
        _ = hear(.interface(isUp: true), at: 1001)
        _ = hear(
            .linkFound(NetworkID(1), AccessPoint(bssid: accessPoint, frequency: Frequency(megahertz: 2412))), at: 1002)
        _ = hear(.address(isReady: true), at: 1003)
        _ = hear(.supplicant(isAvailable: true), at: 1004)
        _ = hear(.signal(-55), at: 2000)
        _ = hear(.scanned(id: nil, observations(-60, at: 2900)), at: 3000)
        let actions = hear(.linkLost(), at: 4000)
        for case .join(let target) in actions {
            _ = hear(
                .associated(epoch: target.epoch, AccessPoint(bssid: other, frequency: Frequency(megahertz: 2437))),
                at: 4300)
            _ = hear(.address(isReady: true), at: 4500)
        }
        _ = hear(.tick, at: 60_000)
        return (text, events)
    }
}
