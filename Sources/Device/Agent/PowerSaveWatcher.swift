import AgentCore
import Linux
import Netlink

/// Reads an interface's counters for `PowerSaveByTraffic` and sets the result.
@AgentLoop
final class PowerSaveWatcher {
    private let radio: WirelessRadio
    private let set: @AgentLoop (Bool) -> Void
    private var policy = PowerSaveByTraffic()
    private var timer: LoopTimer?

    init(of radio: WirelessRadio, set: @escaping @AgentLoop (Bool) -> Void) {
        self.radio = radio
        self.set = set
        count()
    }

    private func count() {
        let frames = radio.frames.map { LinkFrames(sent: $0.sent, received: $0.received) }
        if let isOn = policy.counted(frames, at: .now) { set(isOn) }
        timer = LoopTimer(every: PowerSaveByTraffic.interval) { [weak self] in self?.count() }
    }
}
