import AgentModel
import AppProtocol
import Glibc
import Terminal

enum DisplayText {
    /// Returns the age of a time. A future time counts as now.
    static func ago(_ time: Timestamp, now: Timestamp) -> String {
        Age.ago(milliseconds: now.millisecondsSince1970 - time.millisecondsSince1970)
    }

    /// Returns a duration in seconds, such as `4.2 s`.
    static func seconds(_ duration: Duration) -> String {
        let tenths = max(0, duration.milliseconds) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// Returns up to four bars: one from -85 dBm, and another for each further 10 dB.
    static func bars(_ signal: Int, _ style: Style) -> String {
        // Limit the signal, as the device is untrusted.
        let count = min(max((min(max(signal, -1000), 1000) + 95) / 10, 0), 4)
        return style.isUnicode
            ? "▂▄▆█".prefix(count) + String(repeating: "·", count: 4 - count)
            : String(repeating: "#", count: count) + String(repeating: ".", count: 4 - count)
    }

    /// Returns the colour of a signal in dBm: green from -65 dBm, yellow from -75 dBm, else red.
    static func paint(_ signal: Int) -> Style.Paint {
        signal >= -65 ? .green : signal >= -75 ? .yellow : .red
    }

    static func channel(_ frequency: Frequency) -> String {
        frequency.channel.map { "channel \($0), \(frequency)" } ?? "\(frequency)"
    }

    static func security(_ security: Security) -> String {
        switch security {
        case .open: "open"
        case .owe: "OWE"
        case .wpa2: "WPA2"
        case .wpa3: "WPA3"
        case .wpa2wpa3: "WPA2/WPA3"
        case .enterprise: "enterprise"
        case .wep: "WEP (insecure)"
        case .legacy: "WPA/TKIP (insecure)"
        case .unknown: "unknown"
        }
    }

    /// Names of the options that are set, joined by commas.
    static func options(_ options: NetworkOptions) -> String {
        [
            options.allowsTKIP ? "TKIP" : nil, options.isManual ? "manual" : nil,
            options.isMetered.map { $0 ? "metered" : "not metered" }, options.band?.rawValue,
            options.bssid.map { "only \($0)" }, options.ipv6.map { "IPv6 \($0.text)" },
        ].compactMap(\.self).joined(separator: ", ")
    }

    static func name(_ ssid: SSID?) -> String { ssid?.description ?? "(hidden)" }

    /// - Parameter carrier: uplink that carries a tunnel; nil without a tunnel.
    static func uplink(_ uplink: Uplink, over carrier: Uplink? = nil) -> String {
        if let carrier { return "a tunnel over \(Self.uplink(carrier))" }
        return uplink.words
    }

    static func uplink(_ uplink: Uplink, of status: NetworkStatus) -> String {
        let words = Self.uplink(uplink, over: status.carrier)
        guard status.carriedBy == .cellular, let modem = status.modem else { return words }
        return "\(words) (\(Self.modem(modem)))"
    }

    static func radio(_ radio: RadioStatus, now: Timestamp) -> String {
        if let block = radio.block { return "\(block.words): \(block.remedy)" }
        let fault =
            switch radio.fault {
            case "scansRefused": "refuses scans"
            case "mute": "its firmware does not answer"
            case "joinsFail": "cannot join any access point in range"
            case "missing": "its interface is missing"
            default: radio.fault.printable
            }
        if radio.needsPowerCycle { return "\(fault): power the device off and on" }
        let step =
            switch radio.step {
            case nil: "waiting for it to recover"
            case "abort": "scan aborted"
            case "disconnect": "disconnected"
            case "cycleInterface": "interface set down and up"
            case "restartSupplicant": "wpa_supplicant restarted"
            case "rebindDriver": "driver rebound"
            case "tellOwner": "recovery failed: restart the device"
            case let step?: step.printable
            }
        return "\(fault) (began \(ago(radio.since, now: now))); \(step)"
    }

    static func staged(_ entry: StagedPasswordStatus, now: Timestamp) -> String {
        let what =
            switch entry.phase {
            case .staged: "a new password is stored beside the current one"
            case .committed: "the new password works and has replaced the old one"
            case .dropped: "the new password was withdrawn"
            case .expired: "the new password has expired"
            }
        return "\(entry.ssid): \(what) (\(entry.changeId.printable), \(ago(entry.since, now: now)))"
    }

    static func setupAccessPoint(_ setupAccessPoint: SetupAccessPointStatus, now: Timestamp) -> String {
        let name = "\(setupAccessPoint.ssid)"
        guard let why = setupAccessPoint.why else { return "\(name) is closed" }
        let reason =
            switch why {
            case "neverProvisioned": "no network is stored"
            case "onlyManual": "all stored networks are manual"
            case "nothingSeen": "no stored network is in range"
            case "nothingWorks": "no stored network can be joined"
            case "button": "by the button"
            case "command": "by command"
            default: why.printable
            }
        let age = setupAccessPoint.since.map { ", \(ago($0, now: now))" } ?? ""
        guard setupAccessPoint.isOpen else {
            let problem =
                setupAccessPoint.problem.map { "cannot open: \($0.printable)" } ?? "opens when the radio is free"
            return "\(name) \(problem) (\(reason)\(age))"
        }
        let stations =
            setupAccessPoint.stations.map { $0 == 1 ? "; 1 device connected" : "; \($0) devices connected" } ?? ""
        let end = setupAccessPoint.closesIn.map { "; closes in \($0) s" } ?? ""
        return "\(name) is open: \(reason)\(age)\(stations)\(end)"
    }

    /// Returns the state of a modem, such as `connected, 4g, -67 dBm, 72 %`.
    static func modem(_ modem: ModemStatus) -> String {
        let parts = [
            modem.state.rawValue, modem.technology?.rawValue, modem.operator.map(\.printable),
            modem.signal.map { "\($0) dBm" }, modem.quality.map { "\($0) %" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    static func failure(_ failure: JoinFailure) -> String {
        switch failure {
        case .wrongKey: "wrong password"
        case .accessPointFull: "access point full"
        case .notFound: "not found"
        case .lessSecure: "less secure than before"
        case .unsupportedSecurity: "security not supported"
        case .rejected: "rejected"
        case .certificateRefused: "certificate refused"
        case .timeout: "no answer"
        case .linkLost: "link lost"
        case .noAddress: "no address"
        case .captive: "sign-in needed"
        case .noInternet: "no internet"
        case .unconfirmed: "not confirmed"
        case .interrupted: "interrupted"
        case .supplicantUnavailable: "no wpa_supplicant"
        case .interfaceDown: "interface down"
        }
    }

    static func gap(_ gap: Gap) -> String {
        switch gap.reason {
        case .expired: "\(gap.missed) events were missed"
        case .restarted: "the agent was restarted"
        }
    }

    static func name(_ kind: Decision.Kind) -> String {
        kind.rawValue == "rescue" ? "setup access point" : kind.rawValue.printable
    }

    /// Returns the colour of a decision: green for success, red for a failure, yellow for a problem, else nil.
    static func paint(_ kind: Decision.Kind) -> Style.Paint? {
        switch kind.rawValue {
        case "online", "usable": .green
        case "lost", "failed", "blocked": .red
        case "stay", "search", "unusable": .yellow
        default: nil
        }
    }

    static func headline(_ status: NetworkStatus) -> (text: String, paint: Style.Paint) {
        let name = status.ssid?.description ?? "a network"
        return switch status.state {
        case .online: ("Online on \(name)", .green)
        case .joining: ("Joining \(name)", .yellow)
        case .waitingForAddress: ("Waiting for an address on \(name)", .yellow)
        case .offline: status.uplink == nil ? ("Offline", .red) : ("Not on Wi-Fi", .yellow)
        }
    }

    /// Returns the connection with its signal, as the beginning of a sentence.
    static func connection(_ status: NetworkStatus) -> (text: String, paint: Style.Paint?) {
        guard status.state == .online else { return headline(status) }
        let signal = status.wifiSignal.map { " (\($0) dBm, \(strength($0)))" } ?? ""
        let isWeak = status.wifiSignal.map { paint($0) == .red } ?? false
        return ("Connected to \(status.ssid?.description ?? "a network")\(signal)", isWeak ? .yellow : .green)
    }

    /// Returns the strength in a word, with the thresholds of the colour.
    private static func strength(_ signal: Int) -> String {
        switch paint(signal) {
        case .green: "good"
        case .yellow: "fair"
        default: "weak"
        }
    }

    static func phase(_ phase: SwitchPhase) -> String {
        switch phase {
        case .accepted: "accepted"
        case .joining: "joining"
        case .waitingForAddress: "waiting for an address"
        case .validating: "checking internet access"
        case .waitingForConfirmation: "waiting for confirmation"
        case .committed: "connected"
        case .rolledBack: "rolled back"
        case .failed: "failed"
        }
    }
}

enum ConnectivityDisplayText {
    /// Returns the internet access, whether traffic is metered, and the targets; empty if the device checks nothing.
    static func beyond(_ status: NetworkStatus, now: Timestamp) -> [(text: String, paint: Style.Paint?)] {
        guard let connectivity = status.connectivity else { return [] }
        // Omit the internet access if the device has no uplink.
        let isConnected = status.state == .online || status.uplink != nil
        let metered: [(text: String, paint: Style.Paint?)] = status.isMetered ? [("metered", nil)] : []
        let reach = isConnected ? [internet(connectivity)] + metered : []
        return reach + connectivity.targets.map { target($0, now: now) }
    }

    private static func internet(_ connectivity: Connectivity) -> (text: String, paint: Style.Paint?) {
        switch connectivity.internet {
        case .yes: ("internet: yes", .green)
        case .no: ("internet: no\(parenthesis(connectivity.problem))", .red)
        case .captive: ("internet: sign-in needed", .yellow)
        // If the device does not check its internet access, only a problem is known.
        case .unknown where connectivity.problem != nil:
            ("internet: not known\(parenthesis(connectivity.problem))", .yellow)
        case .unknown where !connectivity.checksInternet: ("internet: not checked", nil)
        case .unknown: ("internet: not known", nil)
        }
    }

    /// - Parameter now: current time, to show the age of the state; nil to omit the age.
    static func target(_ target: TargetStatus, now: Timestamp?) -> (text: String, paint: Style.Paint?) {
        let name = target.name.printable
        let age = now.flatMap {
            Age.duration(milliseconds: $0.millisecondsSince1970 - target.since.millisecondsSince1970)
        }
        let since = age.map { " for \($0)" } ?? ""
        return switch target.state {
        case .ready: ("\(name): answering", .green)
        case .setup, .preparing: ("\(name): connecting\(since)", .yellow)
        case .waiting, .failed: ("\(name): not answering\(since)\(parenthesis(target.reason))", .red)
        case .cancelled: ("\(name): not checked", nil)
        }
    }

    static func wanted(_ portal: Portal) -> String {
        "This network needs a sign-in: run 'altnet portal'" + (portal.url.map { ", or open \($0.printable)" } ?? "")
    }

    /// Returns the remaining time of the sign-in, as the end of a sentence; empty if unknown.
    static func rest(of portal: Portal) -> String {
        let time = portal.secondsRemaining.flatMap {
            Age.duration(milliseconds: Int64(min(max($0, 0), .max / 1000)) * 1000)
        }
        return time.map { ", for \($0) more" } ?? ""
    }

    static func request(_ request: PortalRequest) -> String {
        "sign-in to \(request.network.ssid) needs input (run 'altnet portal'): \(request.title.printable)"
    }

    private static func parenthesis(_ problem: ReachProblem?) -> String {
        problem.map { " (\($0.words))" } ?? ""
    }
}

extension DisplayText {
    /// Returns a date in UTC such as `2026-02-03`.
    static func date(seconds: UInt32) -> String { String(Timestamp(seconds: seconds).description.prefix(10)) }

    /// Returns a bar of eight characters for a share from 0 to 1.
    static func bar(_ share: Double, _ style: Style) -> String {
        let count = min(max(Int((share * 8).rounded()), 0), 8)
        return style.isUnicode
            ? String(repeating: "█", count: count) + String(repeating: "░", count: 8 - count)
            : String(repeating: "#", count: count) + String(repeating: ".", count: 8 - count)
    }

    static func years(_ years: Double) -> String {
        switch years {
        case ..<0.1: "less than two months"
        case ..<10: "\(decimal(years)) years"
        case ..<1000: "\(Int(years)) years"
        default: "more than 1000 years"
        }
    }

    /// Returns a number of bytes with a suitable unit, in about three digits.
    static func bytes(_ count: Double) -> String {
        switch count {
        case ..<1024: "\(Int(count)) B"
        case ..<1_048_576: "\(decimal(count / 1024)) KiB"
        case ..<1_073_741_824: "\(decimal(count / 1_048_576)) MiB"
        default: "\(decimal(count / 1_073_741_824)) GiB"
        }
    }

    /// Returns a number, with one decimal if it is below 100.
    static func decimal(_ number: Double) -> String {
        guard number < 100 else { return number < 1e15 ? "\(Int(number))" : "more than 10^15" }
        return "\((number * 10).rounded() / 10)"
    }
}

enum LocalTime {
    /// Returns a time such as `14:03:59` in the local time zone.
    static func clock(_ timestamp: Timestamp) -> String {
        var seconds = time_t(timestamp.millisecondsSince1970 / 1000)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return timestamp.description }
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
