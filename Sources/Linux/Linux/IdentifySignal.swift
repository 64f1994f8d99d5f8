import AgentModel
import Glibc

/// How the device shows which one it is: a light that blinks, a program that is called, or both.
@AgentLoop
public final class IdentifySignal {
    /// The light blinks for this long, and the program is not called again before it has ended.
    static let length = Duration.seconds(5)
    private static let half = Duration.milliseconds(250)

    private let light: String?
    private let program: String?
    private let say: @Sendable (String) -> Void
    private var timer: LoopTimer?
    private var isRunning = false

    /// - Parameters:
    ///   - light: the folder of a light, as in `/sys/class/leds/led0`.
    ///   - program: the path of a program, called without arguments.
    public init(light: String?, program: String?, saying say: @escaping @Sendable (String) -> Void) {
        (self.light, self.program, self.say) = (light, program, say)
    }

    public func show() {
        if let light, timer == nil { blink(light) }
        if let program, !isRunning { call(program) }
        if light == nil, program == nil { say("it is asked which device this is: no light and no program is set") }
    }

    private func blink(_ light: String) {
        // What usually drives the light, such as the card's traffic, gets it back.
        let driver = Self.driver(KernelFile.read(light + "/trigger"))
        if driver != nil { KernelFile.write("none", to: light + "/trigger") }
        guard KernelFile.write("1", to: light + "/brightness") else {
            return say("\(SystemError("light \(light)"))")
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

    /// The one in brackets of `none [mmc0] timer`, nil where there is none to give back.
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
            say("\(error)")
        }
    }
}
