import CNetlink
import Linux

extension NetlinkSocket {
    /// What the kernel is asked to answer.
    enum Answer {
        /// Nothing but that it is done.
        case acknowledged
        /// One message or none, then that it is done.
        case reply
        /// Any number of messages, then their end.
        case dump

        var flags: Int32 {
            switch self {
            case .acknowledged, .reply: NLM_F_ACK
            case .dump: NLM_F_ROOT | NLM_F_MATCH
            }
        }
    }

    /// How a request ended for whoever made it.
    enum Ending {
        case complete
        /// All was told, but it changed meanwhile and may not fit together: best asked again.
        case interrupted
        case failed(NetlinkError)
    }

    /// How a request ended, before it is said what was attempted.
    enum Outcome {
        case complete
        case failed(NetlinkError.Reason)
    }

    /// A request whose end the kernel has not told yet.
    struct PendingRequest {
        let attempted: String
        let answer: Answer
        let timer: LoopTimer
        let onPart: (NetlinkMessage) -> Void
        let onEnd: (Ending) -> Void
        private(set) var messages = 0
        private(set) var wasInterrupted = false

        mutating func note(_ message: NetlinkMessage) {
            messages += 1
            // The kernel marks the messages of a dump that crossed a change.
            if answer == .dump, message.has(NLM_F_DUMP_INTR) { wasInterrupted = true }
        }
    }
}

extension Acknowledgement {
    var outcome: NetlinkSocket.Outcome { errno == 0 ? .complete : .failed(.refused(errno: errno, detail: detail)) }
}
