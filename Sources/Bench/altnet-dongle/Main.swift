import Dongle
import Glibc

/// Plugs a simulated dongle in at this kernel's brcmfmac, until it is ended (SIGTERM): for the virtual board, where the lab does
/// not run. The modules vhci_hcd and brcmfmac are loaded, and INTERFACE is that of a mac80211_hwsim radio, in the network
/// namespace of this process, and is up.
///
///     ip netns exec firmware altnet-dongle INTERFACE [LOG]
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let interface = arguments.first, arguments.count <= 2 else {
            print("altnet-dongle INTERFACE [LOG]")
            exit(64)
        }
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let dongle: FullMACDongle
        do throws(DongleError) {
            dongle = try FullMACDongle(over: interface, log: arguments.dropFirst().first ?? "/dev/null")
        } catch {
            print("\(error)")
            exit(1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        dongle.unplug()
    }
}
