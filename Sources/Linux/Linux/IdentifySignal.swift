import AgentModel
import Glibc

/// Shows which device this is: blinks a light, runs a program, or both.
@AgentLoop
public final class IdentifySignal {
    static let length = Duration.seconds(5)
    private static let half = Duration.milliseconds(250)

    private let light: String?
    private let program: String?
    private let log: @Sendable (String) -> Void
    private var timer: LoopTimer?
    private var isRunning = false

    /// - Parameters:
    ///   - light: folder of a light, as in `/sys/class/leds/led0`.
    ///   - program: path of a program, called without arguments, one process at a time.
    public init(light: String?, program: String?, logging log: @escaping @Sendable (String) -> Void) {
        (self.light, self.program, self.log) = (light, program, log)
    }

    /// Blinks the light for 5 s, and runs the program. Does not restart a light or program that is still active.
    public func show() {
        if let light, timer == nil { blink(light) }
        if let program, !isRunning { call(program) }
        if light == nil, program == nil { log("cannot identify the device: no light and no program is set") }
    }

    private func blink(_ light: String) {
        // Remembers the light's usual trigger, such as card traffic, to restore it afterwards.
        let driver = Self.driver(KernelFile.read(light + "/trigger"))
        if driver != nil { KernelFile.write("none", to: light + "/trigger") }
        guard KernelFile.write("1", to: light + "/brightness") else {
            return log("\(SystemError("light \(light)"))")
        }
        step(light, driver, isOn: true, left: Int(Self.length / Self.half))
    }

    private func step(_ light: String, _ driver: String?, isOn: Bool, left: Int) {
        guard left > 0 else {
            timer = nil
            KernelFile.write("0", to: light + "/brightness")
            if let driver { KernelFile.write(driver, to: light + "/trigger") }
            return
        }
        timer = LoopTimer(after: Self.half) { [weak self] in
            KernelFile.write(isOn ? "0" : "1", to: light + "/brightness")
            self?.step(light, driver, isOn: !isOn, left: left - 1)
        }
    }

    /// Returns the trigger in brackets (`none [mmc0] timer`); nil if it is `none` or missing.
    nonisolated static func driver(_ triggers: String?) -> String? {
        guard let triggers, let start = triggers.firstIndex(of: "["),
            let end = triggers[start...].firstIndex(of: "]")
        else { return nil }
        let name = String(triggers[triggers.index(after: start)..<end])
        return name == "none" || name.isEmpty ? nil : name
    }

    private func call(_ program: String) {
        do throws(SystemError) {
            let child = try ChildProcess.start(
                program, [], environment: ChildProcess.ownEnvironment, output: .descriptor(STDERR_FILENO))
            isRunning = true
            DiskLoop.perform { [weak self] in
                ChildProcess.wait(for: child)
                Task { @AgentLoop in self?.isRunning = false }
            }
        } catch {
            log("\(error)")
        }
    }
}
