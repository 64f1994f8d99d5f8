import AgentModel
import Glibc
import Linux

/// Log of the firmware's actions, to debug a failed scenario. The log contains no frames and no keys.
final class DongleLog: Sendable {
    private let descriptor: Int32

    /// - Parameter path: file to which lines are appended. If it cannot be opened, nothing is logged.
    init(_ path: String) { descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func log(_ text: @autoclosure () -> String) {
        guard descriptor >= 0 else { return }
        let now = Instant.now.milliseconds
        let fraction = String(now % 1000 + 1000).dropFirst()
        let line = "\(now / 1000).\(fraction) \(text())\n"
        _ = write(descriptor, line, line.utf8.count)
    }

    /// Logs commands that set a value, and refused commands.
    func log(_ command: FirmwareCommand, _ answer: FirmwareAnswer) {
        let name =
            switch command.subject {
            case .number(let number): "command \(number)"
            case .variable(let name): name
            }
        if case .refused(let refusal) = answer {
            log("\(command.isSet ? "set" : "get") \(name): \(refusal)")
        } else if command.isSet {
            log("set \(name)")
        }
    }

    func log(_ event: FirmwareEvent) {
        // Skip scan results, which are numerous.
        if event.status != .partial { log("event \(event.code): \(event.status)") }
    }
}
