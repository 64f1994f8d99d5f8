import AgentModel
import AppProtocol
import Connectivity
import Linux

/// The device's servers. They come from the settings, or from an app once it has set others.
@AgentLoop
final class TargetStore {
    typealias Connect =
        @Sendable (Target, TargetTrust?, @escaping @Sendable (WatchedTarget.Word) -> Void) -> TargetConnection

    private let settings: ConnectivitySettings
    private let connect: Connect
    /// Targets set by an app; nil if the targets in the settings apply.
    private var own: [Target]?
    private(set) var trust: TargetTrust?
    /// Servers in the order of the list.
    private var members: [(target: Target, watched: WatchedTarget)] = []
    /// Current update. The next one waits for it.
    private var update: Task<Result<TargetList, ProtocolError>, Never>?

    /// - Parameter own: stored targets of an app; nil for none.
    init(_ settings: ConnectivitySettings, own: [Target]?, trust: TargetTrust?, connect: @escaping Connect) {
        (self.settings, self.connect, self.trust) = (settings, connect, trust)
        replace(own)
    }

    var watched: [WatchedTarget] { members.map(\.watched) }

    var required: ReachLevel { settings.required(for: members.map(\.target)) ?? .lan }

    var list: TargetList {
        TargetList(
            source: own == nil ? .settings : .app, required: required,
            targets: members.map { TargetSetting(name: $0.target.name, url: $0.target.url) })
    }

    /// Replaces the targets. Unchanged targets keep their connections.
    private func replace(_ own: [Target]?) {
        self.own = own
        let before = members
        members = (own ?? settings.targets).map { target in
            if let same = before.first(where: { $0.target == target }) { return same }
            let (connect, trust) = (connect, trust)
            return (target, WatchedTarget(target) { connect($0, trust, $1) })
        }
    }

    /// Changes the targets. Runs one change after the other, so that the targets stored last are the ones in use.
    /// - Parameter store: stores the targets of an app; nil if the targets in the settings apply.
    /// - Throws: `ProtocolError` if a target is invalid, the required level cannot be checked, or storing fails.
    func change(
        _ change: TargetsUpdate, trust: TargetTrust?,
        storing store: @escaping @Sendable ([String]?) async throws(ProtocolError) -> Void,
        using use: @escaping @AgentLoop () -> Void
    ) async throws(ProtocolError) -> TargetList {
        let own = try change.targets()
        guard settings.required(for: own ?? settings.targets) != nil else {
            throw ProtocolError(
                .unsupported,
                "the settings require a server to check (ALTNET_REQUIRED_LEVEL): keep at least one in the list"
            )
            .about("body.targets")
        }
        let task = Task { [earlier = update] () -> Result<TargetList, ProtocolError> in
            _ = await earlier?.value
            do throws(ProtocolError) { try await store(own?.map(\.description)) } catch { return .failure(error) }
            if let trust { self.trust = trust }
            replace(own)
            use()
            return .success(list)
        }
        update = task
        return try await task.value.get()
    }
}

extension TargetsUpdate {
    /// - Returns: nil if the targets in the settings apply.
    /// - Throws: `ProtocolError` with the invalid field.
    func targets() throws(ProtocolError) -> [Target]? {
        guard case .replace(let wanted) = self else { return nil }
        var targets: [Target] = []
        for (index, setting) in wanted.enumerated() {
            do throws(TargetError) {
                let target = try Target(name: setting.name, url: setting.url)
                try Target.check(targets + [target])
                targets.append(target)
            } catch {
                let member =
                    switch error {
                    case .badName, .duplicateName: "name"
                    case .malformed, .badScheme, .badHost, .badPort, .tooMany: "url"
                    }
                throw ProtocolError(.malformed, "\(error)").about("body.targets[\(index)].\(member)")
            }
        }
        return targets
    }
}
