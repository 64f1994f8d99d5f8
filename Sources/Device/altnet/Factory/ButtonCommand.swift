import Agent
import AgentModel
import ArgumentParser
import Glibc
import Linux

struct ButtonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "button",
        abstract: "Watch the device's button and start its action.",
        discussion: """
            Listens to the key of ALTNET_BUTTON_KEY only, on all input devices, including those plugged in later. If \
            the button was held for ALTNET_BUTTON_PROVISION_S, starts \(Self.provisioningUnit); if it was held for \
            ALTNET_BUTTON_RESET_S, starts \(Self.resetUnit), which wipes the networks. Exits at once if no key is set. \
            altnet-button.service runs this command.

            EXIT STATUS
              0   no key is set, or ended by a signal
              74  input devices cannot be watched
              78  the agent's settings are invalid
            """)

    static let provisioningUnit = "altnet-provisioning.target"
    static let resetUnit = "altnet-factory-reset.service"

    @Option(
        help: ArgumentHelp(
            "The agent's settings file (default: \(AgentSettings.packagedFile), if it exists).",
            valueName: "file"))
    var settings: String?

    @Option(help: ArgumentHelp("The directory of the input devices.", valueName: "path"))
    var devices = "/dev/input"

    @Option(
        help: ArgumentHelp("The program that starts a unit, with systemctl's arguments.", valueName: "path"))
    var systemctl = "systemctl"

    func run() throws {
        let console = Console.current
        do {
            guard let button = try AgentSettings.ofThisMachine(file: settings).button else { return }
            let watch = ButtonWatch(button, folder: devices)
            try watch.run(logging: console.complain) { start($0, console) }
        } catch let failure as CommandFailure {
            try console.report(failure, json: false)
        } catch let error as SystemError {
            try console.report(CommandFailure(.deviceFailure, "\(error)"), json: false)
        }
    }

    private func start(_ action: ButtonHold.Action, _ console: Console) {
        let unit = action == .provisioning ? Self.provisioningUnit : Self.resetUnit
        console.complain("button released: starting \(unit)")
        do throws(SystemError) {
            let child = try ChildProcess.start(
                systemctl, ["start", "--no-block", unit], environment: ChildProcess.ownEnvironment,
                output: .descriptor(STDERR_FILENO))
            let status = ChildProcess.wait(for: child)
            if status != 0 { console.complain("could not start \(unit): \(systemctl) ended with status \(status)") }
        } catch {
            console.complain("could not start \(unit): \(error)")
        }
    }
}

private struct ButtonWatch {
    private let settings: ButtonSettings
    private let folder: String

    private struct Watched {
        let device: KeyDevice
        var hold: ButtonHold
    }

    init(_ settings: ButtonSettings, folder: String) {
        self.settings = settings
        self.folder = folder
    }

    /// Runs until a signal arrives.
    /// - Throws: `SystemError` if input devices cannot be watched.
    func run(logging log: (String) -> Void, onAction: (ButtonHold.Action) -> Void) throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT])
        defer { signals.end() }
        var watched: [Watched] = []
        while true {
            // The folder appears with the first device. Watch the folder before listing it, so that every device is
            // found.
            let isThere = access(folder, F_OK) == 0
            let news = try FolderWatch(isThere ? folder : parent)
            if !isThere, access(folder, F_OK) == 0 { continue }
            for path in paths where !watched.contains(where: { $0.device.path == path }) {
                // Skip devices that have gone or that this user may not read.
                guard let device = try? KeyDevice(path: path, key: settings.key) else { continue }
                log("watching the button on \(path)")
                watched.append(Watched(device: device, hold: ButtonHold(settings)))
            }
            var isNew = false
            while !isNew {
                let isReady = Readiness.wait(
                    for: [(signals.descriptor, .readable), (news.descriptor, .readable)]
                        + watched.map { ($0.device.descriptor, .readable) }, within: nil)
                guard isReady.contains(true) else { continue }
                if isReady[0] { return }
                isNew = isReady[1]
                for index in watched.indices.reversed() where isReady[index + 2] {
                    if !read(&watched[index], onAction) { watched.remove(at: index) }
                }
            }
        }
    }

    private var parent: String {
        let end = folder.lastIndex(of: "/") ?? folder.startIndex
        return end == folder.startIndex ? "/" : String(folder[..<end])
    }

    private var paths: [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(entry.pointee.d_reclen)) { String(cString: $0) }
            }
            if name.hasPrefix("event") { names.append(folder + "/" + name) }
        }
        return names.sorted()
    }

    /// - Returns: false if the device has gone.
    private func read(_ watched: inout Watched, _ onAction: (ButtonHold.Action) -> Void) -> Bool {
        do {
            while let (event, time) = try watched.device.read() {
                let event: ButtonHold.Event =
                    switch event {
                    case .pressed: .pressed
                    case .released: .released
                    case .lost: .lost
                    }
                if let action = watched.hold.handle(event, at: time) { onAction(action) }
            }
            return true
        } catch {
            return false
        }
    }
}
