import AgentModel
import AppProtocol
import JSONValues

extension Check {
    static let targets = [
        targets("port", "a target without a port gets port 80, or that of its scheme") { check, wire, list in
            for (scheme, port) in [("tcp", 80), ("http", 80), ("mqtt", 1883)] {
                let name = "harness-\(scheme)"
                try await check.replace(list.adding(name, "\(scheme)://harness.invalid"), wire)
                let status: NetworkStatus = try await wire.get(.getNetwork)
                let target = status.connectivity?.targets.first { $0.name == name }
                try expect("the host of the target \(name)", target?.host, is: "harness.invalid")
                try expect("the port of the target \(name)", target?.port, is: port)
            }
        },
        targets("badHost", "a target with an invalid host or port is refused, and the list stays") {
            check, wire, list in
            let urls = [
                "", "tcp://", "tcp://:80", "tcp://harness..invalid", "tcp://har ness", "tcp://har\u{0}ness",
                "tcp://[::1",
                "tcp://2001:db8::1", "tcp://[harness]", "tcp://[fe80::1%wlan0]", "tcp://münchen.example",
                "tcp://" + String(repeating: "a", count: 64) + ".invalid", "tcp://harness.invalid:0",
                "tcp://harness.invalid:65536", "tcp://harness.invalid:", "gopher://harness.invalid",
            ]
            for url in urls {
                try await wire.ask(.updateTargets, list.adding("harness", url))
                    .expectRefusal(.malformed, field: "body.targets[\(list.targets.count)].url")
            }
            let after: TargetList = try await wire.get(.getTargets)
            try expect("the earlier list", after, is: list)
        },
        targets("names", "a name that occurs twice or has other characters is refused") { check, wire, list in
            for name in [list.targets[0].name, "", "har ness", "härness", String(repeating: "a", count: 33)] {
                try await wire.ask(.updateTargets, list.adding(name, "tcp://harness.invalid"))
                    .expectRefusal(.malformed, field: "body.targets[\(list.targets.count)].name")
            }
        },
        targets("event", "a new target begins as setup, and a removed one ends as cancelled") { check, wire, list in
            try await wire.subscribe()
            try await check.replace(list.adding("harness", "tcp://harness.invalid"), wire)
            try expect("the first state", try await wire.state(of: "harness"), is: .setup)
            try await check.replace(list.adding(nil, ""), wire)
            _ = try await wire.event("target.changed with the state cancelled") { event -> Bool? in
                guard let target = event.target, target.name == "harness" else { return nil }
                return target.state == .cancelled ? true : nil
            }
        },
    ]

    private static func targets(
        _ name: String, _ title: String,
        _ body: @escaping @Sendable (CheckRun, Wire, TargetList) async throws -> Void
    ) -> Check {
        Check("targets.\(name)", title, section: "targets.get, targets.update") { check in
            try check.needsFeature("targets")
            let wire = try await check.open()
            let list: TargetList = try await wire.get(.getTargets)
            // A first target would raise the required level: the device could leave its network.
            guard !list.targets.isEmpty, list.targets.count < list.max else {
                throw Obstacle("needs at least one target, and room for another")
            }
            let result: Result<Void, any Error>
            do { result = .success(try await body(check, wire, list)) } catch { result = .failure(error) }
            let former: JSONValue = list.source == .settings ? ["reset": true] : list.adding(nil, "")
            let restored: TargetList = try await wire.get(.updateTargets, former)
            try result.get()
            try expect("the earlier list again", restored, is: list)
        }
    }
}

extension Check {
    static let providers = [
        Check("providers.get", "the answer has each provider once", section: "providers.get, providers.set") { check in
            try check.needsFeature("providers")
            let list: HotspotProviders = try await check.open().get(.getProviders)
            let names = list.providers.map(\.name)
            try expect("each provider once", Set(names).count == names.count, got: "\(names)")
        },
        Check(
            "providers.set", "a provider can be switched off and on again", section: "providers.get, providers.set"
        ) { check in
            try check.needsFeature("providers")
            let (wire, other) = (try await check.open(), try await check.open())
            let before: HotspotProviders = try await wire.get(.getProviders)
            let used = (try await wire.get(.getPortal, as: PortalStatus.self)).portal?.provider
            guard let provider = before.providers.first(where: { $0.name != used }) else {
                throw Obstacle("needs a provider that does not sign in now")
            }
            for isOn in [!provider.isOn, provider.isOn] {
                let body: JSONValue = ["provider": .text(provider.name), "on": .bool(isOn)]
                let answer: HotspotProviders = try await wire.get(.setProvider, body)
                let wanted = before.providers.map {
                    $0.name == provider.name ? HotspotProvider(name: $0.name, isOn: isOn) : $0
                }
                try expect("the providers in the answer", answer.providers, is: wanted)
                let later: HotspotProviders = try await other.get(.getProviders)
                try expect("the providers in providers.get", later.providers, is: wanted)
            }
        },
        Check(
            "providers.unknown", "a provider that does not exist cannot be switched",
            section: "providers.get, providers.set"
        ) { check in
            try check.needsFeature("providers")
            let wire = try await check.open()
            for name in ["harness-none", "", "..", String(repeating: "a", count: 1000)] {
                try await wire.ask(.setProvider, ["provider": .text(name), "on": false])
                    .expectRefusal(.malformed, field: "body.provider")
            }
        },
    ]
}

extension TargetList {
    /// Returns an update with these targets and another one, if it has a name.
    fileprivate func adding(_ name: String?, _ url: String) -> JSONValue {
        let all = targets + (name.map { [TargetSetting(name: $0, url: url)] } ?? [])
        return ["targets": .array(all.map { ["name": .text($0.name), "url": .text($0.url)] })]
    }
}

extension CheckRun {
    fileprivate func replace(_ body: JSONValue, _ wire: Wire) async throws {
        let answer: TargetList = try await wire.get(.updateTargets, body)
        let sent = body["targets"]?.array?.map { $0["name"]?.text ?? "" } ?? []
        try expect("the targets in the answer", answer.targets.map(\.name), is: sent)
        try expect("the source of the list", answer.source, is: .app)
    }
}

extension Wire {
    fileprivate func state(of target: String) async throws -> ConnectionState {
        try await event("target.changed of \(target)") { $0.target?.name == target ? $0.target?.state : nil }
    }
}

extension Event {
    fileprivate var target: TargetStatus? { if case .targetChanged(let status) = body { status } else { nil } }
}
