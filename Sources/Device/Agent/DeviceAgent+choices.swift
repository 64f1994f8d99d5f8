import AgentModel
import AppProtocol
import Connectivity
import Hotspots
import KeyFile

// Settings that apps change, apart from networks: the device's servers and the hotspot providers.
extension DeviceAgent {
    nonisolated func change(_ update: TargetsUpdate) async throws(ProtocolError) -> TargetList {
        var trust: TargetTrust?
        // Read certificates here and not on the loop, because this takes time.
        let targets = try update.targets() ?? settings.connectivity.targets
        if targets.contains(where: \.isTLS), await targetStore.trust == nil {
            do throws(TrustError) {
                trust = try .ofDevice(authorities: settings.connectivity.authorities)
            } catch {
                throw ProtocolError(.unsupported, "\(error)").about("body.targets")
            }
        }
        let store = store
        return try await targetStore.change(
            update, trust: trust,
            storing: { targets throws(ProtocolError) in
                _ = try await store.update { (state) throws(ProtocolError) in state.targets = targets }
            },
            using: { [weak self] in
                guard let self else { return }
                log.notice("targets: \(targetStore.list.targets.map { "\($0.name)=\($0.url)" }.joined(separator: " "))")
                reach.replace(targetStore.watched, required: targetStore.required)
                uplinks.retarget(required: targetStore.required)
            })
    }

    var providers: HotspotProviders {
        get async throws(ProtocolError) {
            guard let hotspots = reach.hotspots else { throw .noProviders }
            let off = hotspots.switchedOff
            // List disabled providers even while they are missing, so that apps can enable them again.
            let names = (try? await hotspots.providers()) ?? []
            return HotspotProviders(
                providers: off.union(names).sorted().map { HotspotProvider(name: $0, isOn: !off.contains($0)) })
        }
    }

    func set(_ change: ProviderSwitch) async throws(ProtocolError) -> HotspotProviders {
        let known = try await providers.providers
        guard known.contains(where: { $0.name == change.provider }) else {
            throw ProtocolError(.malformed, "no hotspot provider has this name").about("body.provider")
        }
        let state = try await store.update { (state) throws(ProtocolError) in
            state.providersOff.removeAll { $0 == change.provider }
            if !change.isOn { state.providersOff = (state.providersOff + [change.provider]).sorted() }
        }
        if let hotspots = reach.hotspots {
            hotspots.switchedOff = Set(state.providersOff)
            log.notice("the hotspot provider \(change.provider.printable) is \(change.isOn ? "on" : "off")")
        }
        return try await providers
    }

    /// Stores the provider of each network, which is then tried first there, even after a restart.
    func remember(_ entries: [RememberedProvider]) {
        let signIns = entries.map { StoredSignIn(ssid: $0.ssid, security: $0.security, provider: $0.provider) }
        Task {
            do throws(ProtocolError) {
                try await store.update { (state) throws(ProtocolError) in state.signIns = signIns }
            } catch {
                log.warning("cannot store which hotspot provider signed in: \(error.message)")
            }
        }
    }
}

extension ProtocolError {
    fileprivate static let noProviders = ProtocolError(
        .unsupported, "ALTNET_PROVIDERS is not set: the device has no hotspot providers"
    ).about("type")
}

extension RememberedProvider {
    init(_ stored: StoredSignIn) {
        self.init(ssid: stored.ssid, security: stored.security, provider: stored.provider)
    }
}
