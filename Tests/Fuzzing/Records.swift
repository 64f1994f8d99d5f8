import AgentModel

@testable import Agent
@testable import Failover

extension FuzzTarget {
    /// A record that can be read is the same once it is written as the agent writes it and read again.
    static let records = FuzzTarget(
        "records", "a record of what the policy heard and did", longest: 4096, seeds: { [RecordSample.text] }
    ) { bytes in
        do throws(RecordError) {
            let runs = try RecordReader.runs(in: bytes, of: "r")
            precondition(!runs.isEmpty && runs.allSatisfy { run in run.steps.allSatisfy { $0.line > 0 } })
            let written = runs.flatMap(text)
            guard let again = try? RecordReader.runs(in: written, of: "r"), again.count == runs.count else {
                preconditionFailure("a record cannot be read once it is written")
            }
            for (run, again) in zip(runs, again) { check(run, again) }
        } catch {
            precondition(error.description.utf8.count < 400)
        }
    }
}

private func text(_ run: RecordedRun) -> [UInt8] {
    RecordLine.run(agent: run.agent, settings: run.settings).text
        + run.steps.flatMap { RecordLine.step(at: $0.at, event: $0.event, actions: $0.actions).text }
}

private func check(_ run: RecordedRun, _ again: RecordedRun) {
    precondition(
        again.agent == run.agent && again.settings == run.settings, "settings read otherwise once they are written")
    precondition(again.steps.count == run.steps.count)
    for (step, again) in zip(run.steps, again.steps) {
        precondition(
            again.at == step.at && again.event == step.event && again.actions == step.actions,
            "an event reads otherwise once it is written")
    }
}

private enum RecordSample {
    static let text: [UInt8] = {
        guard let bssid = BSSID("02:00:00:00:01:00") else { preconditionFailure("no BSSID") }
        let accessPoint = AccessPoint(bssid: bssid, frequency: Frequency(megahertz: 2412))
        var policy = FailoverPolicy(settings: PolicySettings())
        let ssids = ["Home Net/5,G%-", "-"].compactMap { try? SSID($0) }
        let networks = ssids.enumerated().map {
            KnownNetwork(id: NetworkID($0.offset + 1), ssid: $0.element, usesPassphrase: true)
        }
        let sights = ssids.map { ssid in
            BSS(
                bssid: accessPoint.bssid, ssid: ssid, frequency: Frequency(megahertz: 5180), signal: -61,
                lastSeen: Instant(milliseconds: 2900), security: .wpa2wpa3)
        }
        let events: [PolicyEvent] = [
            .networks(networks), .interface(isUp: true), .supplicant(isAvailable: true),
            .linkFound(NetworkID(1), accessPoint),
            .address(isReady: true), .signal(-55), .scanned(id: nil, sights), .linkLost(.other),
            .joinFailed(epoch: 1, .wrongKey), .switchTo(NetworkID(2), id: 9, confirmWithin: .milliseconds(2500)),
            .probed(epoch: 6, ProbeResult.allCases[0]), .signingIn(epoch: 6, until: Instant(milliseconds: 90_000)),
            .otherUplink(.wired),
            .tick, .stop,
        ]
        // The settings' own lines would be most of it.
        var text = Array(#"{"run":{"format":6,"agent":"1.2.3","settings":{"margin":"9"}}}"#.utf8) + [UInt8(ascii: "\n")]
        for (index, event) in events.enumerated() {
            let now = Instant(milliseconds: Int64(index) * 1000)
            text += RecordLine.step(at: now, event: event, actions: policy.handle(event, at: now)).text
        }
        return text + RecordLine.gap(missed: 3).text
    }()
}

extension FuzzTarget {
    /// A file is read or refused line by line. A record that is read is the same once it is written with quotes; the
    /// settings that come of it are in their ranges, or refused with words that can be shown.
    static let settings = FuzzTarget(
        "settings", "the settings file, and the values in it", longest: 2048,
        seeds: { [TestFile.settings] + bytes(SettingsSample.all) },
        preparing: {
            let names = Set(Setting.all.map(\.name))
            return { bytes in read(bytes, names: names) }
        })
}

/// - Parameter names: of all settings that there are.
private func read(_ bytes: [UInt8], names: Set<String>) {
    let file = SettingsFile(path: "/f", content: bytes)
    precondition(Set(file.entries.map(\.name)).count == file.entries.count, "a setting is there twice")
    for problem in file.problems { check(problem) }
    let quoted = file.entries.map { "\($0.name)=\"\(escaped($0.value))\"\n" }.joined()
    let again = SettingsFile(path: "/f", content: Array(quoted.utf8))
    precondition(again.problems.isEmpty && again.entries.map(\.value) == file.entries.map(\.value))
    // One name that is unknown is as good as many, and looking for the nearest takes a millisecond for each.
    let known =
        file.entries.filter { names.contains($0.name) } + file.entries.filter { !names.contains($0.name) }.prefix(1)
    let values = Dictionary(known.map { ($0.name, $0.value) }) { first, _ in first }
    do throws(InvalidSettings) {
        let settings = try AgentSettings(environment: values)
        precondition(settings.lanPort.map { (1...65_535).contains($0) } ?? true)
        precondition(!settings.interface.isEmpty && settings.recordLimit > 0)
    } catch {
        precondition(!error.problems.isEmpty && error.lines.count <= InvalidSettings.reportLimit + 1)
        for problem in error.problems { check(problem) }
    }
}

private func check(_ problem: InvalidSetting) {
    precondition(problem.description.unicodeScalars.allSatisfy(\.isPlain), "a message that cannot be shown")
    precondition(problem.description.utf8.count < 4096)
}

private func escaped(_ value: String) -> String {
    value.map { "\"\\`$".contains($0) ? "\\\($0)" : "\($0)" }.joined()
}

private enum SettingsSample {
    static let all = [
        "ALTNET_INTERFACE=wlan1\nALTNET_LAN_PORT=0\n", "ALTNET_TARGETS=\"a=b.example:1 c=d.example:2\"\n",
        "# c\n\t ALTNET_MARGIN_DB = 9 \t\r\nALTNET_VALIDATION_BODY='it is \"right\"\\'\n",
        "ALTNET_RECORD=\"/a\\\\b\\\"c\\$d\\`e\"\n",
        "ALTNET_SOCKET_MODE=0660\nALTNET_COUNTRY=DE\nALTNET_LOG_LEVEL=debug\n",
    ]
}

extension TestFile {
    /// All settings with their defaults, a line each.
    fileprivate static var settings: [UInt8] {
        Array(Setting.all.map { "\($0.name)=\($0.example)\n" }.joined().utf8.prefix(2000))
    }
}
