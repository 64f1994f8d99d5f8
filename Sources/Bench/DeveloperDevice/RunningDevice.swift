import Agent
import AgentModel
import AppProtocol
import AppServer
import DevicePage
import Glibc
import KeyFile
import Linux
import NIOCore
import NIOPosix

/// A device with its app server, the sockets for apps and for the world, and its announcement in the network.
package struct RunningDevice: Sendable {
    package struct Places: Sendable {
        /// Folder of the identity and the key file; nil for a temporary folder.
        package var state: String?
        /// Key of the device; nil for the key in the folder, or a random key if there is none.
        package var key: DeviceKey?
        /// TCP port for apps in the network; 0 for any free port.
        package var port = ProtocolLimits.port
        package var isAnnounced = true
        /// Port of the device's page on the loopback interface, 1 to 65535; nil for no page. If it is set, the page is
        /// also available on `port`, for users with the key.
        package var page: Int?
        /// Time from the end of an attempt to join until a phone is back on the setup access point. From the attempt's
        /// start until then, `page` does not answer; nil if it always answers.
        package var returnTime: Duration?
        /// Paths of the Unix sockets: `socket` for programs on this machine, `control` for the world.
        package var socket: String
        package var control: String

        /// - Parameter folder: existing folder for the sockets.
        package init(sockets folder: String) { (socket, control) = (folder + "/altnet.sock", folder + "/world.sock") }
    }

    package let places: Places
    package let device: DeveloperDevice
    package let port: Int
    /// Reason why the announcement (DNS-SD) failed; nil if it works or is switched off.
    package let announcementProblem: String?
    private let server: AppServer
    private let world: WorldListener
    private let page: WebListener?
    private let pageSignals: Task<Void, Never>?
    private let reach: PhoneReach?
    private let announcer: ServiceAnnouncer?
    private let group: MultiThreadedEventLoopGroup
    /// Temporary folder, which `stop` removes; nil for a permanent folder.
    private let ownFolder: OwnFolder?

    package var pairingCode: PairingCode { PairingCode(device.identity.key) }

    /// Starts the servers. Returns when apps can connect. Call `begin` to start the world.
    package init(
        _ settings: DeveloperDevice.Settings, at places: Places,
        notify: @escaping @AgentLoop (DeveloperDevice.Notice) -> Void = { _ in }
    ) async throws {
        let own = places.state == nil ? try OwnFolder() : nil
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let folder = own?.path ?? places.state ?? ""
            try Self.prepare(folder, places.key)
            let hub = EventHub()
            let reach = places.returnTime.map { PhoneReach(returnTime: $0) }
            let device = try await DeveloperDevice(settings, in: folder, hub: hub) { notice in
                if case .event(.switchProgress(let status), _) = notice { reach?.record(status) }
                notify(notice)
            }
            var credentials = device.identity.certificate.map {
                AppCredentials(deviceId: device.identity.id, certificate: $0, keys: device.keys)
            }
            let page = DevicePage(
                device, deviceId: device.identity.id, keys: device.keys, localName: "\(device.identity.id).local",
                port: places.port == 0 ? nil : places.port)
            if places.page != nil { credentials?.pages = page.inNetwork }
            let server = AppServer(
                unix: UnixListenerSettings(path: places.socket, mode: 0o600),
                lan: credentials.map { LANListenerSettings(port: places.port, credentials: $0) }, service: device,
                hub: hub,
                names: device.identity.networkNames, on: group.next()
            ) { notice in
                Task { @AgentLoop in notify(.log(.info, "\(notice)")) }
            }
            server.serve(device.keys)
            try await server.start()
            let world: WorldListener
            let webListener: WebListener?
            do {
                webListener = try await Self.show(page, at: places.page, reach, on: group.next())
                world = try await WorldListener(at: places.control) { device.answer(to: $0).line }
            } catch {
                await server.stop()
                throw error
            }
            (self.page, self.reach) = (webListener, reach)
            pageSignals = webListener == nil ? nil : Task { await page.follow(hub) }
            port = server.lanPort ?? places.port
            var problem: String?
            announcer =
                places.isAnnounced
                ? await ServiceAnnouncer.start(
                    ServiceAnnouncement(
                        deviceId: device.identity.id, name: device.act { $0.status().deviceName }, port: port),
                    on: group, problem: &problem) : nil
            announcementProblem = problem
            self.places = places
            (self.device, self.server, self.world, self.group, ownFolder) = (device, server, world, group, own)
        } catch {
            try? await group.shutdownGracefully()
            own?.remove()
            throw error
        }
    }

    /// Creates the folder. If a key is given, stores it as the identity.
    private static func prepare(_ folder: String, _ key: DeviceKey?) throws {
        let files = try Folder.open(folder, making: true)
        guard let key else { return }
        let identities = IdentityFolder(files)
        if try identities.isEmpty {
            try identities.install(DeviceIdentity(key: key))
        } else if try !identities.read().hasKey(of: DeviceIdentity(key: key)) {
            throw RunningDeviceError.otherKey(folder: folder)
        }
    }

    /// Serves the page of the setup access point on the loopback interface, without a radio.
    private static func show(
        _ page: DevicePage, at port: Int?, _ reach: PhoneReach?, on loop: any EventLoop
    ) async throws -> WebListener? {
        guard let port, let address = IPAddress("127.0.0.1") else { return nil }
        let pages = page.onAccessPoint(address: address, port: port)
        let listener = WebListener(reach.map { PagesInReach(pages: pages, reach: $0) } ?? pages)
        try await listener.listen(at: address, port: port, on: loop)
        return listener
    }

    package func begin() async { await device.begin() }

    package func stop() async {
        await announcer?.stop()
        pageSignals?.cancel()
        reach?.restore()
        await page?.close()
        await world.stop()
        await server.stop()
        await device.stop()
        try? await group.shutdownGracefully()
        ownFolder?.remove()
    }
}

package enum RunningDeviceError: Error, Equatable, CustomStringConvertible {
    case otherKey(folder: String)
    /// Other users can access the sockets' folder.
    case notOurs(path: String)

    package var description: String {
        switch self {
        case .otherKey(let folder):
            "the device in this folder has another key, leave out --key or give another folder: \(folder)"
        case .notOurs(let path): "not a folder that only this user can use, remove it: \(path)"
        }
    }
}

/// Folder in /tmp that only this user can access.
private struct OwnFolder {
    let path: String

    init() throws(SystemError) {
        var template = Array("/tmp/altnet-device-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("make a folder in /tmp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { unlink(path + "/" + name) }
        }
        closedir(folder)
        rmdir(path)
    }
}

/// Default folder for the sockets of the device on a port.
package enum SocketFolder {
    package static func path(port: Int) -> String { "/tmp/altnet-device-\(geteuid())-\(port)" }

    package static func remove(_ path: String) { rmdir(path) }

    /// Creates the folder unless it exists.
    /// - Throws: `RunningDeviceError.notOurs` if another user can access the folder; `SystemError`.
    package static func make(_ path: String) throws {
        guard mkdir(path, 0o700) != 0 else { return }
        guard errno == EEXIST else { throw SystemError("make \(path)") }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { throw RunningDeviceError.notOurs(path: path) }
    }
}
