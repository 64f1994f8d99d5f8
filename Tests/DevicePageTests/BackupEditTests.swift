import AgentModel
import AppProtocol
import AppServer
import Testing

@testable import DevicePage

/// Changes of the stored networks, on the page in the network.
@Suite struct BackupEditTests {
    private static func stored(_ name: String) throws -> BackupNetwork {
        BackupNetwork(
            ssid: try SSID(name), hash: NetworkHash(localKey: Secret([1]), ssid: try SSID(name), password: nil),
            security: .wpa2, isHidden: name == "B", options: NetworkOptions(isManual: name == "B"))
    }

    private static func list() throws -> BackupList {
        BackupList(max: 8, revision: 3, networks: [try stored("A"), try stored("B")])
    }

    private static func update(
        _ path: String, in bench: SiteBench = SiteBench(), _ fields: (SiteBench, BackupList) -> String
    ) throws -> BackupsUpdate? {
        var bench = bench
        let session = try bench.signIn("0123456789abcdef")
        let list = try list()
        let effect = bench.browse(.post, path, fields(bench, list), cookie: session)
        guard case .perform(.getBackups, let purpose, let visitor) = effect else { return nil }
        let next = bench.site.afterwards(.success(.backups(list)), of: purpose, visitor, at: bench.now)
        guard case .perform(.updateBackups(let update), .saveBackups, _) = next else { return nil }
        #expect(update.ifRevision == 3)
        let end = bench.site.afterwards(.success(.backups(list)), of: .saveBackups, visitor, at: bench.now)
        #expect(end.location == "/networks")
        return update
    }

    private static func hash(_ bench: SiteBench, _ network: BackupNetwork) -> String {
        let name = bench.networkNames.name(of: network.hash).base64
        return "hash=" + name.utf8.map { "%" + Hex.string([$0]) }.joined()
    }

    private func names(_ update: BackupsUpdate?) -> Int? { update?.networks.count }

    @Test func aNetworkIsSavedWithoutAMove() throws {
        let added = try #require(
            try Self.update("/store") { _, _ in "network=43.wpa2-psk&password=front-door-mat" })
        guard added.networks.count == 3, case .new(let network) = added.networks[2] else { throw MissingSwitch() }
        #expect(network.ssid == (try SSID("C")) && network.credential == .password(Secret(text: "front-door-mat")))
    }

    @Test func aStoredNameIsReplacedWithItsOptions() throws {
        let replaced = try #require(
            try Self.update("/store") { _, _ in "network=42.wpa2-psk&password=front-door-mat" })
        guard replaced.networks.count == 2, case .new(let network) = replaced.networks[1] else {
            throw MissingSwitch()
        }
        #expect(network.isHidden && network.options.isManual)
    }

    @Test func networksAreOrderedRemovedAndChanged() throws {
        let bench = SiteBench()
        let moved = try Self.update("/backups", in: bench) { "do=up&" + Self.hash($0, $1.networks[1]) }
        let removed = try Self.update("/backups", in: bench) { "do=remove&" + Self.hash($0, $1.networks[0]) }
        #expect(names(moved) == 2 && names(removed) == 1 && moved?.networks[0] == removed?.networks[0])
        let fields = "manual=no&metered=yes&band=5+GHz&bssid=&tkip=no&do=options&"
        let changed = try Self.update("/backups") { fields + Self.hash($0, $1.networks[1]) }
        let change = NetworkOptions.Change(
            allowsTKIP: false, isAutomatic: true, isMetered: .to(true), band: .to(.five), bssid: .unset)
        #expect(changed?.options.values.first == change && names(changed) == 2)
    }

    @Test func whatIsNotInTheListIsNotChanged() throws {
        for deed in ["down", "options"] {
            #expect(try Self.update("/backups") { _, _ in "do=\(deed)&hash=\(Self.unknown)" } == nil)
        }
        #expect(try Self.update("/backups") { "do=down&" + Self.hash($0, $1.networks[1]) } == nil)
        var bench = SiteBench()
        let session = try bench.signIn("0123456789abcdef")
        for (fields, phrase) in [
            ("do=up", Phrase.errorNetwork), ("do=fly&hash=\(Self.unknown)", .errorRefused),
            ("do=options&bssid=x&hash=\(Self.unknown)", .errorAccessPoint),
        ] {
            let view = bench.browse(.post, "/backups", fields, cookie: session).view
            #expect(view == .error(400, phrase, detail: nil))
        }
    }

    private static let unknown = "dUnNrl9ZGLL2XWhS6Eyh%2Bv7ra11zzx%2BZnd0SH3Ww67c="

    /// Without a key, or with a key that may only switch, nothing is stored.
    @Test func onlyAKeyThatManagesChangesTheList() throws {
        let name = try #require(KeyName("Anna"))
        let key = AppKey(name: name, secret: Secret(text: "another key than that"), role: .switch)
        var bench = SiteBench(keys: [Keys.owner, key])
        let code = PairingCode(try DeviceKey(deviceId: "bench-01", localKey: key.secret, name: name)).uri()
        let session = try bench.signIn(code.utf8.map { "%" + Hex.string([$0]) }.joined())
        for path in ["/store", "/backups"] {
            #expect(bench.browse(.post, path, "", cookie: session).view == .error(403, .errorNotPermitted, detail: nil))
            #expect(bench.post(path, "").view == .error(404, .errorNotFound, detail: nil))
        }
    }
}
