#pragma once
#include <csignal>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace programs {

/// Interrupt (Ctrl-C) stops the reply first, the program second. Made before any other thread, so that all threads leave
/// the signal to the one that waits for it here.
class Interrupt {
  public:
    Interrupt() {
        struct sigaction now {};
        sigaction(SIGINT, nullptr, &now);
        if (now.sa_handler == SIG_IGN) return;  // whoever started the program wants it so
        sigset_t set = interrupt_only();
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        waiting_ = std::jthread([this](const std::stop_token& end) { wait(end); });
    }
    ~Interrupt() {
        if (!waiting_.joinable()) return;
        waiting_.request_stop();
        pthread_kill(waiting_.native_handle(), SIGINT);
    }
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// While it lives, the first interrupt asks the reply to stop, and the program goes on.
    class Reply {
      public:
        explicit Reply(Interrupt& interrupt) : interrupt_(interrupt) {
            const std::scoped_lock lock(interrupt_.mutex_);
            interrupt_.reply_.emplace();
        }
        ~Reply() {
            const std::scoped_lock lock(interrupt_.mutex_);
            interrupt_.reply_.reset();
        }
        Reply(const Reply&) = delete;
        Reply& operator=(const Reply&) = delete;

        [[nodiscard]] std::stop_token stop_token() const { return interrupt_.reply_->get_token(); }

      private:
        Interrupt& interrupt_;
    };

  private:
    static sigset_t interrupt_only() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        return set;
    }
    void wait(const std::stop_token& end) {
        const sigset_t set = interrupt_only();
        for (int signal = 0; sigwait(&set, &signal) == 0 && !end.stop_requested();) {
            const std::scoped_lock lock(mutex_);
            if (reply_ && reply_->request_stop()) continue;
            // As if it had never been caught: the parent process sees what ended the program.
            std::signal(SIGINT, SIG_DFL);
            pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
            std::raise(SIGINT);
        }
    }

    std::mutex mutex_;
    std::optional<std::stop_source> reply_;
    std::jthread waiting_;
};

}  // namespace programs
