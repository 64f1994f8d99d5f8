import AgentModel
import AppClient
import AppProtocol
import Observation

/// The screen on which the owner of a device sees which network it is in and keeps its backup networks.
///
/// It holds the contents of the screen; a SwiftUI view that reads it follows by itself. Rows and calls are those of the
/// SDK's own demo.
@MainActor @Observable
final class BackupNetworksScreen {
    /// Below the title: whether the device has backup networks at all.
    private(set) var support = "…"
    /// The device's last answer; nil until then.
    private(set) var info: NetworkInfo?
    private(set) var stored: BackupWifiNetworks?
    /// The text of an alert, and the phase of a switch.
    private(set) var alert: String?
    private(set) var progress: String?

    private let manager: DeviceNetworkManager

    /// One manager a device, for as long as the app shows it: it keeps the connection.
    init(_ manager: DeviceNetworkManager) { self.manager = manager }

    // MARK: Contents

    /// The first section: the current network in five rows. An SSID is any text that the
    /// operator of an access point has chosen; its description is safe to show.
    var currentRows: [(title: String, value: String)] {
        guard let info else { return [] }
        return [
            ("ssid", info.ssid?.description ?? "-"),
            ("signal", info.signal.map { "\($0) dBm" } ?? "-"),
            ("type", info.network.map { "\($0)" } ?? "none"),
            ("canUpdateWifiBackupNetwork", "\(manager.canUpdateWifiBackupNetwork(info))"),
            ("canSwitchWifiNetwork", "\(manager.canSwitchWifiNetwork(info))"),
        ]
    }

    /// The second section: the backup networks, and a row to add one.
    var backupRows: [String] {
        guard let stored else { return [] }
        return stored.networks.map(\.ssid.description) + ["add new backup network"]
    }

    /// Below a network of the list: that a newer password waits for it, and what has become of one.
    func passwordRow(of network: BackupWifiModel) -> String? {
        switch stored?.staged.last(where: { $0.ssid == network.ssid })?.phase {
        case .staged: "a newer password waits for the router's change"
        case .committed: "the newer password is in use"
        case .expired: "the newer password was never right, and is given up"
        case .dropped, nil: nil
        }
    }

    // MARK: Actions of the person

    /// When the screen appears.
    func load() async {
        alert = nil
        await refresh()
    }

    private func refresh() async {
        await orAlert { [self] () async throws(ClientError) in
            guard try await manager.supportWifiBackupNetwork() else {
                support = "not supported"
                return
            }
            support = "supported"
            let info = try await manager.getCurrentNetworkInfo()
            self.info = info
            stored = manager.canUpdateWifiBackupNetwork(info) ? try await manager.getBackupWifiNetworks() : nil
        }
    }

    /// In a task of the screen's own: shows what changes while it is open. Ends when the task is cancelled.
    func follow() async {
        await orAlert { [self] () async throws(ClientError) in
            for try await event in try await manager.events() {
                switch event.body {
                case .networkChanged, .backupsChanged, .gap: await refresh()
                default: break
                }
            }
        }
    }

    /// In the row to add one. The list is replaced as a whole, so the new one is sent with all the others; only its
    /// password travels, and sealed.
    func add(ssid: String, pwd: String) async {
        await update { [manager] stored throws(ClientError) in
            guard stored.networks.count < stored.max else { return nil }
            return stored.networks + [try manager.generateBackupWifiModel(ssid: ssid, pwd: pwd)]
        }
    }

    func remove(_ network: BackupWifiModel) async {
        await update { stored in stored.networks.filter { $0 != network } }
    }

    /// The device leaves the network, and comes back in another one. The phone has to be able to reach that one as
    /// well.
    func switchTo(_ network: BackupWifiModel) async {
        alert = nil
        guard let info, manager.canSwitchWifiNetwork(info) else {
            alert = "can't switch"
            return
        }
        await showProgress { [manager] tell throws(ClientError) in
            try await manager.switchBackupWifiNetwork(hash: network.hash) { tell("\($0.phase)") }
        }
        await refresh()
    }

    /// Before the person changes the password at the router: the device gets it first, and changes over by itself. Given up
    /// after a week.
    func stage(_ pwd: String, of network: BackupWifiModel, as changeId: String) async {
        await keep { [manager] () throws(ClientError) in
            try await manager.stagePassword(Secret(text: pwd), of: network.ssid, changeId: changeId, keepFor: 604_800)
        }
    }

    /// The person leaves the router as it is.
    func keepPassword(of network: BackupWifiModel) async {
        guard let waiting = stored?.staged.last(where: { $0.ssid == network.ssid && $0.phase == .staged }) else {
            return
        }
        await keep { [manager] () throws(ClientError) in try await manager.dropPassword(waiting.changeId) }
    }

    /// Sets up a new device, or one without networks in range, through the setup access point. The app joins the phone
    /// to it, with the call that its system has for this.
    func onboard(ssid: String, pwd: String, on phone: some PhoneNetwork) async {
        alert = nil
        guard let accessPoint = SetupAccessPointCredentials(of: manager.device) else {
            alert = "the code on the device's label is needed"
            return
        }
        await showProgress { [manager] tell throws(ClientError) in
            let model = try manager.generateBackupWifiModel(ssid: ssid, pwd: pwd)
            try await manager.onboard(into: model, through: accessPoint, on: phone) { tell("\($0)") }
        }
        if alert == nil { await refresh() }
    }

    // MARK: Implementation

    /// Shows what `work` tells while it goes on.
    private func showProgress(
        _ work: (_ tell: @escaping @Sendable (String) -> Void) async throws(ClientError) -> Void
    ) async {
        let (steps, told) = AsyncStream.makeStream(of: String.self)
        let showing = Task { for await step in steps { progress = step } }
        await orAlert { () async throws(ClientError) in try await work { told.yield($0) } }
        told.finish()
        await showing.value
        progress = nil
    }

    /// Sends the list as it is after a change, unless the change is nil, for there is no room. With the revision, what
    /// another phone of the household has added meanwhile is not lost: the device refuses, and the person sees the new
    /// list.
    private func update(_ change: (BackupWifiNetworks) throws(ClientError) -> [BackupWifiModel]?) async {
        guard let stored else { return }
        alert = nil
        await orAlert { [self] () async throws(ClientError) in
            guard let changed = try change(stored) else {
                alert = "can't add any more"
                return
            }
            self.stored = try await manager.updateBackupWifiNetworks(changed, ifRevision: stored.revision)
        }
        if alert != nil { await reload() }
    }

    private func keep(_ work: () async throws(ClientError) -> BackupWifiNetworks) async {
        alert = nil
        await orAlert { [self] () async throws(ClientError) in stored = try await work() }
    }

    private func reload() async {
        if let present = try? await manager.getBackupWifiNetworks() { stored = present }
    }

    /// Every call throws one type of error, whose text says what to do. That the device is on the network already
    /// needs no alert. The first alert stays until the person does something.
    private func orAlert(_ work: () async throws(ClientError) -> Void) async {
        do {
            try await work()
        } catch {
            if case .refused(let refusal) = error, refusal.code == .alreadyAssociated { return }
            if error != .cancelled, alert == nil { alert = "\(error)" }
        }
    }
}
