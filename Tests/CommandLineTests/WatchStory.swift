import AgentModel
import AppProtocol

@testable import altnet

/// A device that fades at home, moves to its backup, is not watched for a while, and loses that too.
enum WatchStory {
    /// Of the program's own clock.
    static let end = Instant(milliseconds: 1_000_000)

    static func state() throws -> WatchState {
        var state = WatchState()
        let begin = end.advanced(by: .seconds(-280))
        func moment(_ second: Int) -> Instant { begin.advanced(by: .seconds(second)) }
        state.connected(
            to: Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: []))
        state.update(
            BackupList(max: 3, revision: 7, networks: [try Sample.backup("BackupNet"), try Sample.backup("Attic")]))
        for second in 0..<110 {
            state.update(try network("HomeNet", signal: -50 - second / 3), at: moment(second))
        }
        for (second, signal) in [(40, -62), (80, -58), (105, -60)] {
            state.update(try scan("BackupNet", signal, "Attic", -82), at: moment(second))
        }
        state.take(try decision(1, "joining BackupNet: the link was weak at -83 dBm", "join"), isLate: false, at: end)
        state.take(event(.switchProgress(SwitchStatus(switchId: "s-1", phase: .joining))), isLate: false, at: end)
        state.take(event(.switchProgress(SwitchStatus(switchId: "s-1", phase: .committed))), isLate: false, at: end)
        for second in 110..<114 {
            state.update(try network("BackupNet", signal: nil, .joining), at: moment(second))
        }
        state.take(try decision(2, "online on BackupNet", "online"), isLate: false, at: end)
        for second in 114..<180 {
            state.update(try network("BackupNet", signal: -58 + second % 3), at: moment(second))
        }
        state.lost("the agent closed the connection: was it stopped?", at: moment(180))
        state.connected(
            to: Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: []))
        state.take(event(.gap(Gap(reason: .restarted, missed: 0))), isLate: true, at: moment(220))
        for second in 220..<260 {
            state.update(try network("BackupNet", signal: -60 - second % 2), at: moment(second))
        }
        state.update(try scan("HomeNet", -78, "Attic", -80), at: moment(250))
        state.take(try decision(3, "the link to BackupNet was lost", "lost"), isLate: false, at: end)
        state.update(try network(nil, signal: nil, .offline), at: moment(260))
        return state
    }

    static func event(_ body: Event.Body) -> Event { Event(seq: 1, time: Sample.now, body: body) }

    static func decision(_ seq: Int, _ text: String, _ kind: String) throws -> Event {
        event(
            .decision(
                Decision(
                    seq: seq, time: Sample.ago(Int64(10 - seq)), monotonicMs: 0, kind: Decision.Kind(rawValue: kind),
                    from: nil, to: nil, reason: ReasonCode(rawValue: "weak"), text: text)))
    }

    static func network(_ name: String?, signal: Int?, _ state: LinkState = .online) throws -> NetworkStatus {
        NetworkStatus(
            state: state, uplink: state == .online ? .wifi : nil, flags: [], ssid: try name.map { try SSID($0) },
            bssid: Sample.bssid(1), signal: signal, frequency: Frequency(megahertz: 2412), since: Sample.ago(20))
    }

    static func scan(_ networks: (name: String, signal: Int)...) throws -> ScanResults {
        ScanResults(
            isScanning: false, lastScanId: nil,
            networks: try networks.map { network in
                ScannedNetwork(
                    bssid: Sample.anyBSSID, ssid: try SSID(network.name), frequency: Frequency(megahertz: 2437),
                    signal: network.signal, security: .wpa2, ageMs: 100)
            })
    }

    private static func scan(_ first: String, _ firstSignal: Int, _ second: String, _ secondSignal: Int) throws
        -> ScanResults
    {
        try scan((first, firstSignal), (second, secondSignal))
    }
}

extension Sample {
    static let anyBSSID = BSSID(bytes: [2, 0, 0, 0, 1, 0])!
}
