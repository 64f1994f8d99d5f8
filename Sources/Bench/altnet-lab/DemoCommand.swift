import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import FoundationEssentials
import Glibc
import Lab
import Simulation
import Synchronization

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows the agent keeping a device online between real access points.",
        discussion: """
            Needs a kernel with simulated radios: `make demo` starts a virtual machine that has one. hostapd, dnsmasq, \
            wpa_supplicant and the agent are the real programs.
            """)

    @Option(help: "Write a chart (SVG) of the demo's eight moments to this file.")
    var picture: String?

    @Option(help: "Write an animation (SVG) of the failover to this file.")
    var animation: String?

    @Flag(help: "Also show the device in Home Assistant; `make home-assistant` prepares it.")
    var homeAssistant = false

    func validate() throws {
        if homeAssistant, !HomeAssistant.isInstalled {
            throw ValidationError("Home Assistant is missing: run make home-assistant")
        }
        if let obstacle = Lab.obstacle { throw ValidationError("the demo cannot run here, use make demo: \(obstacle)") }
    }

    func run() async throws {
        let stage = Stage()
        do {
            let story = try await Demo(stage: stage, hasHomeAssistant: homeAssistant).run()
            if let picture { try Self.write(StoryChart(story).svg, to: picture) }
            if let animation {
                guard let failover = FailoverAnimation(story) else {
                    throw LabError.unexpected("the recording has no failover")
                }
                try Self.write(failover.svg, to: animation)
            }
        } catch {
            stage.failure("\(error)")
            throw ExitCode(1)
        }
    }

    private static func write(_ svg: String, to path: String) throws {
        try Data(svg.utf8).write(to: URL(filePath: path))
    }
}

/// Shows typical events of a device, in two minutes.
struct Demo {
    let stage: Stage
    var hasHomeAssistant = false

    /// - Returns: the recording of what happened.
    func run() async throws -> DeviceStory {
        stage.title("altnet: a device that stays online")
        stage.remark("Real hostapd, dnsmasq and wpa_supplicant on a real kernel; only the radio waves are simulated.")
        let story = try await Lab.run("demo", accessPoints: 3) { lab in
            stage.scene("Three access points start to send")
            let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
            let backup = try await lab.accessPoint(
                "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -55)
            let garage = try await lab.accessPoint(
                "GarageNet", security: Lab.radioKind.hasSAE ? .wpa3("garage-password") : .wpa2("garage-password"),
                channel: 36, signal: -72)
            for accessPoint in [home, backup, garage] {
                try await accessPoint.powerOn()
                stage.remark("         \(accessPoint.ssid)")
            }
            let recorder = StoryRecorder()
            let device = Device(in: lab) { event in
                recorder.record(event)
                show(event)
            }
            return try await Play(
                stage: stage, lab: lab, device: device, home: home, backup: backup, garage: garage,
                recorder: recorder, hasHomeAssistant: hasHomeAssistant
            ).run()
        }
        stage.remark("")
        stage.remark("The same scenarios are tests: make test")
        return story
    }

    private func show(_ event: Event.Body) {
        switch event {
        case .decision(let decision): stage.agent(decision.text, decision.style)
        case .signal(let reading): stage.signal(of: "link", reading.signal)
        case .switchProgress(let status):
            stage.app("switch \(status.switchId): \(status.text ?? status.phase.rawValue)")
        case .networkChanged, .scanFinished, .backupsChanged, .targetChanged, .portalRequest, .portalEnded, .gap: break
        }
    }
}

extension Decision {
    fileprivate var style: Stage.Style {
        switch kind.rawValue {
        case "online": .green
        case "lost", "failed", "blocked": .red
        case "stay", "search": .yellow
        default: .blue
        }
    }
}

private struct Play {
    let stage: Stage
    let lab: Lab
    let device: Device
    let home: AccessPoint
    let backup: AccessPoint
    let garage: AccessPoint
    let recorder: StoryRecorder
    let hasHomeAssistant: Bool

    func run() async throws -> DeviceStory {
        let pinger = try await lab.pinger()
        for (accessPoint, level) in [(home, -50), (backup, -55), (garage, -72)] {
            recorder.record("\(accessPoint.ssid)", level: level)
        }
        let joined = try await joinHome(pinger)
        try await storeBackups()
        let moved = try await fade(pinger)
        let gap = try await switchBack(pinger)
        if hasHomeAssistant { try await showHomeAssistant() }
        try await overfill()
        // The animation begins 7 s before the power cut and ends 13 s after it.
        try await Task.sleep(for: .seconds(7))
        let back = try await cutPower(pinger)
        try await Task.sleep(for: .seconds(13))
        let story = recorder.end(pinger)
        let memory = await device.residentMemory
        await device.stop()
        stage.title("Durations")
        stage.table([
            ("first network, from nothing to a ping", "\(joined.inSeconds) s"),
            ("critical signal to online on the stronger network", "\(moved.inSeconds) s"),
            ("longest gap of the commanded switch", "\(gap.inSeconds) s"),
            ("power cut to a ping through the backup", "\(back.inSeconds) s"),
            ("agent's resident memory", memory.map { "\($0 / 1024) MB" } ?? "?"),
        ])
        return story
    }

    private func joinHome(_ pinger: Pinger) async throws -> Duration {
        stage.scene("The device starts, and the app sets its home network")
        try await lab.station.startSupplicant()
        try await device.start()
        let start = ContinuousClock.now
        try await device.provision(home)
        let joined = try await prove(pinger, through: home, since: start)
        recorder.moment("Online at home", "\(joined.inSeconds) s after the app set the network")
        return joined
    }

    private func storeBackups() async throws {
        stage.scene("The app stores two backups")
        let list = try await device.store([await backup.asStored(), await garage.asStored()])
        stage.app(
            "\(list.networks.count) of \(list.max): " + list.networks.map { "\($0.ssid)" }.joined(separator: ", "))
        let client = try await device.client()
        let end = ContinuousClock.now + .seconds(60)
        while try await client.backups().networks.contains(where: { $0.lastSeen == nil }) {
            guard ContinuousClock.now < end else { throw LabError.unexpected("the backups were not seen in 60 s") }
            try await Task.sleep(for: .milliseconds(500))
        }
        await client.close()
        stage.proof("a scan has found both")
        recorder.moment("Two backups are stored", "the device has seen both")
        try await Task.sleep(for: .seconds(3))
    }

    private func showHomeAssistant() async throws {
        stage.scene("Home Assistant starts, and finds the device at its broker")
        let house = try await HomeAssistant(in: lab, beside: device)
        for entity in house.entities { stage.house("\(entity.id) = \(entity.state)") }
        for network in [backup, home] {
            let name = "\(network.ssid)"
            stage.scene("Its user chooses \(name) there")
            let (start, mark) = (ContinuousClock.now, device.decisions.count)
            try house.choose(name)
            try await device.online(on: network, within: .seconds(40))
            try await house.shows(name, within: .seconds(20))
            stage.house("the sensor of the network shows \(name) after \((ContinuousClock.now - start).inSeconds) s")
            try await proveNetwork(is: network)
            // The device refuses a selection until the previous one is stored.
            _ = try await device.decision("online", since: mark, within: .seconds(20))
            try await Task.sleep(for: .seconds(1))
        }
        await house.end()
    }

    private func fade(_ pinger: Pinger) async throws -> Duration {
        stage.scene("Home fades")
        let (start, mark) = (ContinuousClock.now, device.decisions.count)
        recorder.moment("The signal at home fades", "to −85 dBm, as behind thick walls")
        for signal in [-60, -68, -76, -85] {
            try await home.setSignal(signal)
            recorder.record("\(home.ssid)", level: signal)
            stage.signal(of: "HomeNet", signal)
            try await Task.sleep(for: .milliseconds(700))
        }
        let critical = ContinuousClock.now
        let join = try await device.decision("join", since: mark, within: .seconds(40))
        for candidate in join.candidates {
            stage.remark(
                "                  \(candidate.ssid): \(candidate.signal.map { "\($0) dBm, " } ?? "")\(candidate.verdict)"
            )
        }
        try await device.online(on: backup, within: .seconds(20))
        let moved = ContinuousClock.now - critical
        let arrival = recorder.now
        try await proveNetwork(is: backup)
        try await Task.sleep(for: .seconds(1))
        recorder.moment(
            "Moved to the backup", "before home is lost", at: arrival, gap: pinger.longestGap(since: start))
        try await Task.sleep(for: .seconds(4))
        return moved
    }

    private func switchBack(_ pinger: Pinger) async throws -> Duration {
        stage.scene("Home is strong again, and the app commands the device back")
        try await home.setSignal(-50)
        recorder.record("\(home.ssid)", level: -50)
        recorder.moment("Home is strong again", "the device waits before it returns on its own")
        try await Task.sleep(for: .seconds(2))
        let start = ContinuousClock.now
        let accepted = try await device.switchNetwork(to: home)
        let outcome = try await device.outcome(of: accepted, within: .seconds(30))
        guard outcome.phase == .committed else { throw LabError.unexpected("the switch ended with \(outcome.phase)") }
        try await device.online(on: home, within: .seconds(5))
        try await pinger.reply(within: .seconds(5))
        let arrival = recorder.now
        try await proveNetwork(is: home)
        let gap = pinger.longestGap(since: start)
        recorder.moment("Back home", "the app commands it", at: arrival, gap: gap)
        return gap
    }

    private func overfill() async throws {
        stage.scene("The app sends four backups, the maximum is three")
        let more = try ["One", "Two"].map { NewNetwork(ssid: try SSID($0), password: nil) }
        var refusal: ClientError?
        do throws(ClientError) {
            try await device.store([await backup.asStored(), await garage.asStored()] + more)
        } catch {
            refusal = error
        }
        guard let refusal else { throw LabError.unexpected("the device accepted a list that is too long") }
        stage.app("refused: \(refusal)")
        let client = try await device.client()
        let list = try await client.backups()
        await client.close()
        stage.proof("the old list is kept: " + list.networks.map { "\($0.ssid)" }.joined(separator: ", "))
    }

    private func cutPower(_ pinger: Pinger) async throws -> Duration {
        stage.scene("Home's power is cut")
        let cut = ContinuousClock.now
        recorder.cut("\(home.ssid)")
        recorder.moment("Home loses its power", "without a warning")
        try await home.powerOff()
        try await device.online(on: backup, within: .seconds(40))
        let back = try await prove(pinger, through: backup, since: cut + .milliseconds(100)) + .milliseconds(100)
        recorder.moment(
            "Online on the backup", "\(back.inSeconds) s after the power cut", at: recorder.time(of: cut + back),
            gap: pinger.longestGap(since: cut - .seconds(1)))
        return back
    }

    private func prove(
        _ pinger: Pinger, through network: AccessPoint, since moment: ContinuousClock.Instant
    ) async throws -> Duration {
        let first = try await pinger.reply(after: moment, within: .seconds(10))
        stage.proof("a ping came back \((first - moment).inSeconds) s after it")
        try await proveNetwork(is: network)
        return first - moment
    }

    private func proveNetwork(is network: AccessPoint) async throws {
        let answering = try await lab.station.network(within: .seconds(5))
        guard answering == network.ssid else {
            throw LabError.unexpected("data flows through \(answering?.description ?? "nothing"), not \(network.ssid)")
        }
        stage.proof("data flows through \(network.ssid)")
    }
}

extension Duration {
    fileprivate var inSeconds: String {
        let hundredths = milliseconds / 10
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}

/// Records the demo for its pictures.
final class StoryRecorder: Sendable {
    private let start = ContinuousClock.now
    private let story = Mutex(DeviceStory())

    var now: Duration { time(of: .now) }

    func time(of moment: ContinuousClock.Instant) -> Duration { max(.zero, moment - start) }

    func record(_ network: String, level: Int?) { story.withLock { $0.record(network, level: level, at: now) } }

    func record(_ event: Event.Body) {
        story.withLock { story in
            switch event {
            case .networkChanged(let status):
                story.record(online: status.state == .online ? status.ssid.map { "\($0)" } : nil, at: now)
            case .decision(let decision): story.decisions.append((now, decision.text))
            default: break
            }
        }
    }

    func moment(_ text: String, _ note: String, at time: Duration? = nil, gap: Duration? = nil) {
        story.withLock { $0.moments.append(.init(at: time ?? now, text, note, gap: gap)) }
    }

    func cut(_ network: String) {
        record(network, level: nil)
        story.withLock { $0.cut = now }
    }

    /// Returns the recording until now, with the pinger's gaps.
    func end(_ pinger: Pinger) -> DeviceStory {
        story.withLock { story in
            story.duration = now
            // A scan delays replies by up to 0.1 s.
            story.gaps = pinger.gaps(longerThan: .milliseconds(150)).map {
                time(of: $0.lowerBound)..<time(of: $0.upperBound)
            }
            return story
        }
    }
}

/// Prints one line per event, with the time since the start. On a terminal, the lines have colours.
final class Stage: Sendable {
    private let start = ContinuousClock.now
    private let isColoured = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil

    struct Span: Sendable {
        let text: String
        let style: Style
    }

    enum Style: Int, Sendable {
        case plain = 0
        case bold = 1
        case faint = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case magenta = 35
        case cyan = 36
    }

    func title(_ text: String) { put([], [Span(text: "  " + text, style: .bold)], []) }

    func remark(_ text: String) { put([Span(text: "  " + text, style: .faint)]) }

    /// Prints a change that the demo makes.
    func scene(_ text: String) { put([], [stamp, Span(text: "▶ " + text, style: .cyan)]) }

    /// Prints a decision of the agent.
    func agent(_ text: String, _ style: Style) { put(from: "agent", [Span(text: text, style: style)]) }

    /// Prints a message that the app sent or received.
    func app(_ text: String) { put(from: "app", [Span(text: text, style: .magenta)]) }

    /// Prints a state in Home Assistant.
    func house(_ text: String) { put(from: "house", [Span(text: text, style: .plain)]) }

    /// Prints a measurement that is independent of the agent.
    func proof(_ text: String) { put([stamp, Span(text: "✔ " + text, style: .green)]) }

    func failure(_ text: String) { put([stamp, Span(text: "✘ " + text, style: .red)]) }

    func signal(of name: String, _ dBm: Int) {
        let style: Style = dBm >= -65 ? .green : dBm >= -75 ? .yellow : .red
        put(
            from: "radio",
            [
                Span(text: name + " ", style: .plain), Span(text: Self.bar(dBm), style: style),
                Span(text: " \(dBm) dBm", style: .plain),
            ])
    }

    func table(_ rows: [(String, String)]) {
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows {
            let padding = String(repeating: " ", count: width - name.count + 2)
            put([Span(text: "  " + name + padding, style: .plain), Span(text: value, style: .bold)])
        }
    }

    /// Returns a bar of ten blocks for a signal of -95 to -35 dBm.
    private static func bar(_ dBm: Int) -> String {
        let full = min(max((dBm + 95) / 6, 0), 10)
        return String(repeating: "█", count: full) + String(repeating: "░", count: 10 - full)
    }

    private var stamp: Span {
        let tenths = Int((ContinuousClock.now - start) / .milliseconds(100))
        let text = "\(tenths / 10).\(tenths % 10) s  "
        return Span(text: String(repeating: " ", count: max(0, 10 - text.count)) + text, style: .faint)
    }

    private func put(from source: String, _ spans: [Span]) {
        let name = source + String(repeating: " ", count: max(0, 7 - source.count))
        put([stamp, Span(text: name, style: .faint)] + spans)
    }

    private func put(_ lines: [Span]...) {
        // One write, so that lines of several tasks do not mix.
        print(lines.map { $0.map { isColoured ? Self.paint($0) : $0.text }.joined() }.joined(separator: "\n"))
        fflush(nil)
    }

    private static func paint(_ span: Span) -> String {
        guard span.style != .plain else { return span.text }
        return "\u{1b}[\(span.style.rawValue)m\(span.text)\u{1b}[0m"
    }
}
