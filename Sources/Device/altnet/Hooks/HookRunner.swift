import AgentModel
import AppProtocol
import Glibc
import Hotspots
import Linux

/// Runs hooks, each in its own process group: at its end or its time limit, its child processes end too.
@AgentLoop
final class HookRunner {
    /// Maximum bytes of a hook's output in the log.
    static let outputLimit = 4096
    /// Resource limits of a hook.
    nonisolated static let limits = ProviderHost.limits

    private struct Run {
        let hook: String
        let process: pid_t
        let output: Int32
        let watch: ReadWatch
        let timer: LoopTimer
        var text: [UInt8] = []
        /// True if the output was longer than the limit.
        var isCut = false
        var isOverdue = false
    }

    private let directory: ProviderDirectory
    private let user: SystemUser?
    private let limit: Duration
    private let log: (String) -> Void
    private var schedule = HookSchedule()
    private var run: Run?
    /// Last problem of the directory, to report only changes.
    private var problem: String?

    /// - Parameters:
    ///   - user: user of the hooks; nil for this process's user.
    ///   - limit: time limit of one hook.
    init(
        _ directory: ProviderDirectory, user: SystemUser?, limit: Duration, log: @escaping @Sendable (String) -> Void
    ) {
        (self.directory, self.user, self.limit, self.log) = (directory, user, limit, log)
    }

    func changed(_ call: HookCall) { handle(.changed(call, hooks: findHooks())) }

    /// Handles the end of the running hook, after SIGCHLD.
    func childEnded() {
        guard let run else { return }
        var information = siginfo_t()
        guard waitid(P_PID, id_t(run.process), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
            information._sifields._sigchld.si_pid == run.process
        else { return }
        // The process number and group stay reserved until `wait`.
        kill(-run.process, SIGKILL)
        read()
        let status = ChildProcess.wait(for: run.process)
        finish(status)
    }

    private func handle(_ event: HookSchedule.Event) {
        for effect in schedule.handle(event) { perform(effect) }
    }

    private func perform(_ effect: HookSchedule.Effect) {
        switch effect {
        case .start(let hook, let call): start(hook, call)
        case .kill:
            guard let run else { return }
            self.run?.isOverdue = true
            kill(-run.process, SIGKILL)
        case .dropped(let call): log("too many changes: no hook runs for '\(call.change.rawValue)'")
        }
    }

    /// Returns the names of the hooks, and logs refused files if they have changed.
    private func findHooks() -> [String] {
        var problems: [String] = []
        var names: [String] = []
        do throws(ProtocolError) {
            // Files that dpkg keeps beside changed ones.
            names = try directory.list().names.filter { !$0.contains(".dpkg-") }
            problems = try directory.refused().map {
                "\($0.printable) is refused: a hook is an executable file of root, which only root can write, no link"
            }
        } catch {
            problems = [error.message]
        }
        let new = problems.isEmpty ? nil : problems.joined(separator: "\n")
        if new != problem { for text in problems { log(text) } }
        problem = new
        return names
    }

    private func start(_ hook: String, _ call: HookCall) {
        var ends: [Int32] = [-1, -1]
        do throws(SystemError) {
            guard pipe(&ends) == 0 else { throw SystemError("make a pipe for \(hook)") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            let user = user.map { ["--user", $0.name] } ?? []
            let process = try ChildProcess.start(
                "/proc/self/exe", ["hooks", "--hook", hook, "--directory", directory.path] + user,
                environment: call.environment, output: .descriptor(ends[1]))
            close(ends[1])
            run = Run(
                hook: hook, process: process, output: ends[0],
                watch: ReadWatch(fileDescriptor: ends[0]) { [weak self] in self?.read() },
                timer: LoopTimer(after: limit) { [weak self] in self?.handle(.timeIsUp) })
        } catch {
            for end in ends where end >= 0 { close(end) }
            log("\(error)")
            handle(.ended)
        }
    }

    /// Reads the hook's output, and drops what is beyond the limit.
    private func read() {
        guard let run else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(run.output, &buffer, buffer.count)
            guard count > 0 else {
                // At the end of the stream the watch would call again and again.
                if count == 0 { run.watch.cancel() }
                return
            }
            let room = Self.outputLimit - (self.run?.text.count ?? 0)
            self.run?.text += buffer.prefix(min(count, room))
            if count > room { self.run?.isCut = true }
        }
    }

    private func finish(_ status: Int32) {
        guard let run else { return }
        self.run = nil
        run.timer.cancel()
        run.watch.cancel { [output = run.output] in close(output) }
        for line in run.text.split(separator: UInt8(ascii: "\n")) {
            log("\(run.hook): \(String(decoding: line, as: UTF8.self).printable)")
        }
        if run.isCut { log("\(run.hook): more than \(Self.outputLimit) bytes of output, the rest is dropped") }
        if run.isOverdue {
            log("\(run.hook) was killed after \(limit.components.seconds) s")
        } else if status != 0 {
            log("\(run.hook) ended with status \(status)")
        }
        handle(.ended)
    }
}
