// Lists of things that carry their own link, T::next: nothing is allocated. A thing is in one list at a time.
#pragma once
#include <cstdint>
#include <utility>

namespace tutti {

template <class T>
class linked_stack {
 public:
  bool empty() const noexcept { return !first_; }
  void push(T& t) noexcept { t.next = std::exchange(first_, &t); }
  T* pop() noexcept {  // null: empty
    T* const t = first_;
    if (t) first_ = std::exchange(t->next, nullptr);
    return t;
  }

 private:
  T* first_ = nullptr;
};

template <class T>
class linked_queue {
 public:
  T* front() const noexcept { return first_; }  // null: empty
  std::uint32_t size() const noexcept { return size_; }
  void push(T& t) noexcept {
    t.next = nullptr;
    (last_ ? last_->next : first_) = &t;
    last_ = &t;
    ++size_;
  }
  void push_front(T& t) noexcept {
    t.next = std::exchange(first_, &t);
    if (!last_) last_ = &t;
    ++size_;
  }
  T* pop() noexcept {
    T* const t = first_;
    if (t) remove_after(nullptr, *t);
    return t;
  }
  void remove(T& t) noexcept {  // one that is in it
    T* before = nullptr;
    for (T* at = first_; at != &t; at = at->next) before = at;
    remove_after(before, t);
  }

 private:
  void remove_after(T* before, T& t) noexcept {
    (before ? before->next : first_) = std::exchange(t.next, nullptr);
    if (last_ == &t) last_ = before;
    --size_;
  }

  T* first_ = nullptr;
  T* last_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace tutti
