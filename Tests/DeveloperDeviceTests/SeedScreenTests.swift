import AgentModel
import AppClient
import AppProtocol
import Foundation
import Testing

@testable import DeveloperDevice

/// A screen written against the calls of an app SDK, with their labels and callbacks, runs against a device.
@MainActor @Suite(.serialized, .timeLimit(.minutes(10))) struct SeedScreenTests {
    // covers: seed/backups-supported, seed/current-network, seed/backups-list, seed/backup-model, seed/backups-update
    // covers: seed/switch-by-hash, seed/allowed-by-flags
    @Test func aScreenForTheSDKRunsUnchanged() async throws {
        try await withDevice { running in
            // Strong, or the device would leave it automatically after the switch.
            try await running.device.change("router signal -60")
            try await isOnline(running)
            let device = running.pairingCode.device
            try await DeviceNetworkManager.register(
                DeviceNetworkManager(device: device, host: "127.0.0.1", port: running.port))
            defer { DeviceNetworkManager.unregister(device.deviceId) }
            #expect(DeviceNetworkManager.supportWifiBackupNetwork(with: device.deviceId))

            let screen = BackupNetworkController(deviceId: device.deviceId)
            screen.viewDidLoad()
            #expect(screen.label.text == "support")
            let table = screen.tableView
            await table.isReloaded()
            #expect(table.rows(in: 0).map(\.first) == ["ssid", "signal", "type", "can update", "can switch"])
            #expect(
                table.rows(in: 0)[0][1] == "Garden" && table.rows(in: 0)[2...].map(\.last) == ["0", "true", "true"])
            #expect(table.rows(in: 1) == [["Garden", ""], ["Home", ""], ["", "add new backup network"]])

            table.tap(2, in: 1)
            await table.isReloaded()
            #expect(table.rows(in: 1).map(\.first) == ["Garden", "Home", "ABC", ""] && screen.error == nil)
            table.tap(2, in: 1)
            screen.presented?.tap("delete")
            await table.isReloaded()
            #expect(table.rows(in: 1).map(\.first) == ["Garden", "Home", ""] && screen.error == nil)

            table.tap(1, in: 1)
            #expect(screen.presented?.actions.map(\.title) == ["delete", "switch", "cancel"])
            screen.presented?.tap("switch")
            await table.isReloaded()
            #expect(screen.error == nil && table.rows(in: 0)[0][1] == "Home")
        }
    }

    // covers: seed/backups-supported
    @Test func anUnknownDeviceSupportsNothing() async throws {
        let screen = BackupNetworkController(deviceId: "nobody's")
        screen.viewDidLoad()
        #expect(screen.label.text == "do not support")
        screen.loadCurrentNetworkInfo()
        await screen.tableView.isReloaded()
        #expect(screen.error == .notFound && screen.tableView.rows(in: 0).isEmpty)
    }

    private func isOnline(_ running: RunningDevice) async throws {
        let client = try await DeviceClient(connectingTo: running.credentials, timeout: .seconds(60))
        for try await event in try await client.events(EventSubscription(since: 0)) {
            if case .networkChanged(let status) = event.body, status.state == .online { break }
        }
        await client.close()
    }
}

private final class BackupNetworkController: UIViewController {
    private let deviceId: String
    private var info: DeviceNetworkInfo?
    private var backups: [SmartBackupWifiModel]?
    private var max: Int?
    private(set) var error: ClientError?
    let label = UILabel()
    let tableView = UITableView()

    private lazy var manager = DeviceNetworkManager(deviceId: deviceId)

    init(deviceId: String) { self.deviceId = deviceId }

    override func viewDidLoad() {
        super.viewDidLoad()
        tableView.delegate = self
        tableView.dataSource = self
        guard manager.supportWifiBackupNetwork() else {
            label.text = "do not support"
            return
        }
        label.text = "support"
        loadCurrentNetworkInfo()
    }

    func loadCurrentNetworkInfo() {
        manager.getCurrentNetworkInfo { [weak self] info in
            guard let self else { return }
            self.info = info
            guard manager.canUpdateWifiBackupNetwork(info) else { return show(nil, nil) }
            manager.getBackupWifiNetworks { [weak self] backups, max in
                self?.show(backups, max)
            } failure: { [weak self] error in
                self?.show(error)
            }
        } failure: { [weak self] error in
            self?.info = nil
            self?.show(error)
        }
    }

    private func show(_ backups: [SmartBackupWifiModel]?, _ max: Int?) {
        (self.backups, self.max) = (backups, max)
        tableView.reloadData()
    }

    private func show(_ error: ClientError) {
        self.error = error
        show(nil, nil)
    }

    private func add() {
        guard let backups, let max, backups.count < max else { return alert("no room for another network") }
        update(backups + [manager.generateBackupWifiModel(withSSID: "ABC", pwd: "12345678")])
    }

    private func delete(_ backup: SmartBackupWifiModel) { update((backups ?? []).filter { $0 != backup }) }

    private func update(_ backups: [SmartBackupWifiModel]) {
        manager.updateBackupWifiNetworks(backups) {
            self.loadCurrentNetworkInfo()
        } failure: { error in
            self.show(error)
        }
    }

    private func change(to backup: SmartBackupWifiModel) {
        guard let info, manager.canSwitchWifiNetwork(info) else { return alert("the device cannot switch now") }
        manager.switchBackupWifiNetwork(withHash: backup.hashValue) {
            self.loadCurrentNetworkInfo()
        } failure: { error in
            self.show(error)
        }
    }

    private func alert(_ title: String) {
        let alert = UIAlertController(title: title, message: nil, preferredStyle: .alert)
        alert.addAction(UIAlertAction(title: "ok", style: .cancel))
        present(alert, animated: true)
    }
}

extension BackupNetworkController: UITableViewDataSource, UITableViewDelegate {
    func numberOfSections(in tableView: UITableView) -> Int { 2 }

    func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int {
        section == 0 ? (info == nil ? 0 : 5) : backups.map { $0.count + 1 } ?? 0
    }

    func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
        let cell =
            tableView.dequeueReusableCell(withIdentifier: "cell")
            ?? UITableViewCell(style: .value1, reuseIdentifier: "cell")
        if indexPath.section == 0, let info {
            let (title, value) =
                switch indexPath.row {
                case 0: ("ssid", info.ssid)
                case 1: ("signal", "\(info.signal)")
                case 2: ("type", "\(info.network.rawValue)")
                case 3: ("can update", "\(manager.canUpdateWifiBackupNetwork(info))")
                default: ("can switch", "\(manager.canSwitchWifiNetwork(info))")
                }
            cell.textLabel?.text = title
            cell.detailTextLabel?.text = value
        } else if let backups, indexPath.row < backups.count {
            cell.textLabel?.text = backups[indexPath.row].ssid
        } else {
            cell.detailTextLabel?.text = "add new backup network"
        }
        return cell
    }

    func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {
        guard indexPath.section == 1, let backups else { return }
        guard indexPath.row < backups.count else { return add() }
        let backup = backups[indexPath.row]
        let alert = UIAlertController(title: nil, message: nil, preferredStyle: .actionSheet)
        alert.addAction(UIAlertAction(title: "delete", style: .default) { _ in self.delete(backup) })
        alert.addAction(UIAlertAction(title: "switch", style: .default) { _ in self.change(to: backup) })
        alert.addAction(UIAlertAction(title: "cancel", style: .cancel))
        present(alert, animated: true)
    }
}
